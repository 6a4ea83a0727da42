// ABT_info_*: the configuration, objects as text, stacks.
#include <signal.h>

#include <climits>
#include <cstring>

#include "support/abt_fixture.hpp"

namespace {

using namespace weft_test;

class AbtInfo : public AbtTest {};

// What a function writes to a FILE, of which there are those with a descriptor and those without.
std::string written(const std::function<int(std::FILE*)>& write, bool with_descriptor = true) {
  char* text = nullptr;
  size_t size = 0;
  std::FILE* file = with_descriptor ? std::tmpfile() : open_memstream(&text, &size);
  std::fputs("before\n", file);
  EXPECT_TRUE(abt_ok(write(file)));
  std::fputs("after\n", file);
  std::string all;
  if (with_descriptor) {
    std::rewind(file);
    char piece[4096];
    for (size_t n; (n = std::fread(piece, 1, sizeof piece, file)) > 0;) all.append(piece, n);
    std::fclose(file);
  } else {
    std::fclose(file);
    all.assign(text, size);
    std::free(text);
  }
  EXPECT_TRUE(all.starts_with("before\n")) << all;
  EXPECT_TRUE(all.ends_with("after\n")) << all;
  return all;
}

bool has(const std::string& text, const std::string& what) { return text.find(what) != std::string::npos; }

ABT_xstream my_xstream() {
  ABT_xstream xstream = ABT_XSTREAM_NULL;
  EXPECT_TRUE(abt_ok(ABT_self_get_xstream(&xstream)));
  return xstream;
}
ABT_pool my_pool() {
  ABT_pool pool = ABT_POOL_NULL;
  EXPECT_TRUE(abt_ok(ABT_xstream_get_main_pools(my_xstream(), 1, &pool)));
  return pool;
}

// As many bytes as the type has, and no more.
TEST_F(AbtInfo, QueryWritesTheTypeOfItsKind) {
  for (int kind = 0; kind <= ABT_INFO_QUERY_KIND_ENABLED_LAZY_STACK_ALLOC; ++kind) {
    in_each_context([&](Context) {
      unsigned char room[16];
      std::memset(room, 0xee, sizeof room);
      ASSERT_TRUE(abt_ok(ABT_info_query_config(static_cast<ABT_info_query_kind>(kind), room)));
      const bool wide = kind >= ABT_INFO_QUERY_KIND_DEFAULT_THREAD_STACKSIZE &&
                        kind <= ABT_INFO_QUERY_KIND_DEFAULT_SCHED_SLEEP_NSEC;
      EXPECT_EQ(room[wide ? 8 : 4], 0xee) << kind;
      if (!wide) {
        int value;
        std::memcpy(&value, room, sizeof value);
        EXPECT_GE(value, 0) << kind;
      }
    });
  }
  ABT_bool is;
  EXPECT_TRUE(abt_ok(ABT_info_query_config(ABT_INFO_QUERY_KIND_ENABLED_CHECK_ERROR, &is)));
  EXPECT_EQ(is, ABT_TRUE);
  unsigned most = 0;
  EXPECT_TRUE(abt_ok(ABT_info_query_config(ABT_INFO_QUERY_KIND_MAX_NUM_XSTREAMS, &most)));
  EXPECT_GE(most, 1u);
  int any;
  for (const int kind : {-1, ABT_INFO_QUERY_KIND_ENABLED_LAZY_STACK_ALLOC + 1, INT_MAX}) {
    EXPECT_TRUE(abt_fails(ABT_ERR_INV_QUERY_KIND,
                          ABT_info_query_config(static_cast<ABT_info_query_kind>(kind), &any)));
  }
}

// The number of ESs grows with the highest rank.
TEST_F(AbtInfo, QueryTellsOfRanks) {
  ABT_xstream xstream;
  ASSERT_TRUE(abt_ok(ABT_xstream_create_with_rank(ABT_SCHED_NULL, 1000, &xstream)));
  unsigned most = 0;
  EXPECT_TRUE(abt_ok(ABT_info_query_config(ABT_INFO_QUERY_KIND_MAX_NUM_XSTREAMS, &most)));
  EXPECT_EQ(most, 1001u);
  EXPECT_TRUE(abt_ok(ABT_xstream_free(&xstream)));
}

TEST(AbtInfoAlone, NeedsTheRuntime) {
  if (kAbt20) GTEST_SKIP() << "2.0 tells before ABT_init() what it can";
  int any;
  EXPECT_TRUE(abt_fails(ABT_ERR_UNINITIALIZED,
                        ABT_info_query_config(ABT_INFO_QUERY_KIND_ENABLED_DEBUG, &any)));
  EXPECT_TRUE(abt_fails(ABT_ERR_UNINITIALIZED, ABT_info_print_config(stdout)));
  EXPECT_TRUE(abt_fails(ABT_ERR_UNINITIALIZED, ABT_info_print_all_xstreams(stdout)));
}

TEST(AbtInfoAlone, TheEnvironmentIsTold) {
  setenv("ABT_ENV_MAX_NUM_XSTREAMS", "777", 1);
  setenv("ABT_MAX_NUM_XSTREAMS", "555", 1);
  setenv("ABT_SCHED_EVENT_FREQ", "11", 1);
  setenv("ABT_THREAD_STACKSIZE", "100000", 1);
  setenv("ABT_ENV_SCHED_STACKSIZE", "200000", 1);
  ASSERT_TRUE(abt_ok(ABT_init(0, nullptr)));
  unsigned most = 0;
  uint64_t freq = 0;
  size_t size = 0;
  EXPECT_TRUE(abt_ok(ABT_info_query_config(ABT_INFO_QUERY_KIND_MAX_NUM_XSTREAMS, &most)));
  EXPECT_EQ(most, 555u);
  EXPECT_TRUE(abt_ok(ABT_info_query_config(ABT_INFO_QUERY_KIND_DEFAULT_SCHED_EVENT_FREQ, &freq)));
  EXPECT_EQ(freq, 11u);
  EXPECT_TRUE(abt_ok(ABT_info_query_config(ABT_INFO_QUERY_KIND_DEFAULT_THREAD_STACKSIZE, &size)));
  EXPECT_GE(size, 100000u);
  EXPECT_LT(size, 120000u);
  EXPECT_TRUE(abt_ok(ABT_info_query_config(ABT_INFO_QUERY_KIND_DEFAULT_SCHED_STACKSIZE, &size)));
  EXPECT_EQ(size, 200000u);
  EXPECT_TRUE(abt_ok(ABT_finalize()));
  for (const char* name : {"ABT_ENV_MAX_NUM_XSTREAMS", "ABT_MAX_NUM_XSTREAMS", "ABT_SCHED_EVENT_FREQ",
                           "ABT_THREAD_STACKSIZE", "ABT_ENV_SCHED_STACKSIZE"}) {
    unsetenv(name);
  }
}

TEST(AbtInfoAlone, TheConfigurationIsPrintedOnRequest) {
  for (const char* value : {"1", "off"}) {
    setenv("ABT_PRINT_CONFIG", value, 1);
    testing::internal::CaptureStdout();
    ASSERT_TRUE(abt_ok(ABT_init(0, nullptr)));
    EXPECT_TRUE(abt_ok(ABT_init(0, nullptr)));
    const std::string said = testing::internal::GetCapturedStdout();
    EXPECT_EQ(has(said, "Argobots"), value[0] == '1') << said;
    EXPECT_EQ(said.find("Argobots"), said.rfind("Argobots"));  // once
    EXPECT_TRUE(abt_ok(ABT_finalize()));
    EXPECT_TRUE(abt_ok(ABT_finalize()));
  }
  unsetenv("ABT_PRINT_CONFIG");
}

TEST_F(AbtInfo, PrintsObjects) {
  ABT_xstream other;
  ASSERT_TRUE(abt_ok(ABT_xstream_create(ABT_SCHED_NULL, &other)));
  const std::string all = written([](std::FILE* to) { return ABT_info_print_all_xstreams(to); });
  EXPECT_TRUE(has(all, "rank 0 (primary)")) << all;
  EXPECT_TRUE(has(all, "rank 1,")) << all;
  EXPECT_TRUE(has(written([&](std::FILE* to) { return ABT_info_print_xstream(to, other); }, false), "rank 1, running"));
  ABT_sched sched;
  ASSERT_TRUE(abt_ok(ABT_xstream_get_main_sched(other, &sched)));
  EXPECT_TRUE(has(written([&](std::FILE* to) { return ABT_info_print_sched(to, sched); }), "main, "));
  EXPECT_TRUE(has(written([](std::FILE* to) { return ABT_info_print_pool(to, my_pool()); }), "0 units"));
  EXPECT_TRUE(has(written([](std::FILE* to) { return ABT_info_print_config(to); }), "migration"));
  ABT_thread_attr attr;
  ASSERT_TRUE(abt_ok(ABT_thread_attr_create(&attr)));
  EXPECT_TRUE(abt_ok(ABT_thread_attr_set_stacksize(attr, 65536)));
  EXPECT_TRUE(has(written([&](std::FILE* to) { return ABT_info_print_thread_attr(to, attr); }), "65536 bytes"));
  EXPECT_TRUE(abt_ok(ABT_thread_attr_free(&attr)));
  EXPECT_TRUE(abt_ok(ABT_xstream_free(&other)));
}

TEST_F(AbtInfo, PrintsUnits) {
  ABT_thread self;
  ASSERT_TRUE(abt_ok(ABT_self_get_thread(&self)));
  const std::string primary = written([&](std::FILE* to) { return ABT_info_print_thread(to, self); });
  EXPECT_TRUE(has(primary, "(primary)") && has(primary, "running")) << primary;
  ABT_thread thread;
  ABT_task task;
  ASSERT_TRUE(abt_ok(ABT_thread_create(my_pool(), [](void*) {}, nullptr, ABT_THREAD_ATTR_NULL, &thread)));
  ASSERT_TRUE(abt_ok(ABT_task_create(my_pool(), [](void*) {}, nullptr, &task)));
  EXPECT_TRUE(has(written([&](std::FILE* to) { return ABT_info_print_thread(to, thread); }), "ready, not started"));
  EXPECT_TRUE(has(written([&](std::FILE* to) { return ABT_info_print_task(to, task); }), "tasklet 0x"));
  EXPECT_TRUE(abt_ok(ABT_thread_join(thread)));
  EXPECT_TRUE(has(written([&](std::FILE* to) { return ABT_info_print_thread(to, thread); }), "terminated"));
  EXPECT_TRUE(abt_ok(ABT_thread_free(&thread)));
  EXPECT_TRUE(abt_ok(ABT_task_free(&task)));
}

TEST_F(AbtInfo, NullIsRefused) {
  if (kAbt20) GTEST_SKIP() << "2.0 prints that there is none";
  EXPECT_TRUE(abt_fails(ABT_ERR_INV_XSTREAM, ABT_info_print_xstream(stdout, ABT_XSTREAM_NULL)));
  EXPECT_TRUE(abt_fails(ABT_ERR_INV_SCHED, ABT_info_print_sched(stdout, ABT_SCHED_NULL)));
  EXPECT_TRUE(abt_fails(ABT_ERR_INV_POOL, ABT_info_print_pool(stdout, ABT_POOL_NULL)));
  EXPECT_TRUE(abt_fails(ABT_ERR_INV_THREAD, ABT_info_print_thread(stdout, ABT_THREAD_NULL)));
  EXPECT_TRUE(abt_fails(ABT_ERR_INV_TASK, ABT_info_print_task(stdout, ABT_TASK_NULL)));
  EXPECT_TRUE(abt_fails(ABT_ERR_INV_THREAD_ATTR, ABT_info_print_thread_attr(stdout, ABT_THREAD_ATTR_NULL)));
  EXPECT_TRUE(abt_fails(ABT_ERR_INV_THREAD, ABT_info_print_thread_stack(stdout, ABT_THREAD_NULL)));
  EXPECT_TRUE(abt_fails(ABT_ERR_INV_POOL, ABT_info_print_thread_stacks_in_pool(stdout, ABT_POOL_NULL)));
}

// ---- stacks ----

std::atomic<int> begun;
std::atomic<bool> go_on;

}  // namespace

extern "C" {
[[gnu::noinline]] void info_yields_innermost() {
  ++begun;
  while (!go_on) ABT_thread_yield();
}
[[gnu::noinline]] void info_yields(void*) {
  info_yields_innermost();
  asm volatile("" ::: "memory");  // no tail call
}
[[gnu::noinline]] void info_waits(void* eventual) {
  ABT_eventual_wait(static_cast<ABT_eventual>(eventual), nullptr);
  asm volatile("" ::: "memory");
}
void info_never_runs(void*) {}
}

namespace {

class AbtStacks : public AbtInfo {
 protected:
  void SetUp() override {
    begun = 0;
    go_on = false;
    AbtInfo::SetUp();
    ASSERT_TRUE(abt_ok(ABT_eventual_create(0, &eventual)));
    ASSERT_TRUE(abt_ok(ABT_thread_create(my_pool(), info_yields, nullptr, ABT_THREAD_ATTR_NULL, &yields)));
    ASSERT_TRUE(abt_ok(ABT_thread_create(my_pool(), info_waits, eventual, ABT_THREAD_ATTR_NULL, &waits)));
    ASSERT_TRUE(wait_until([this] { return begun == 1 && weft_state(waits) == WEFT_UNIT_BLOCKED; }));
    ASSERT_TRUE(abt_ok(ABT_thread_create(my_pool(), info_never_runs, nullptr, ABT_THREAD_ATTR_NULL, &fresh)));
  }
  void TearDown() override {
    go_on = true;
    EXPECT_TRUE(abt_ok(ABT_eventual_set(eventual, nullptr, 0)));
    for (ABT_thread* thread : {&yields, &waits, &fresh}) EXPECT_TRUE(abt_ok(ABT_thread_free(thread)));
    EXPECT_TRUE(abt_ok(ABT_eventual_free(&eventual)));
    AbtInfo::TearDown();
  }
  static weft_unit_state_t weft_state(ABT_thread thread) {
    return weft_unit_state(reinterpret_cast<weft_unit_t>(thread));
  }

  ABT_eventual eventual = nullptr;
  ABT_thread yields = nullptr;
  ABT_thread waits = nullptr;
  ABT_thread fresh = nullptr;
};

TEST_F(AbtStacks, OfOneUnit) {
  const auto stack_of = [](ABT_thread thread, bool with_descriptor = true) {
    return written([=](std::FILE* to) { return ABT_info_print_thread_stack(to, thread); }, with_descriptor);
  };
  EXPECT_TRUE(has(stack_of(yields), "info_yields_innermost")) << stack_of(yields);
  EXPECT_TRUE(has(stack_of(waits, false), "info_waits")) << stack_of(waits);
  EXPECT_TRUE(has(stack_of(fresh), "fresh")) << stack_of(fresh);
  ABT_thread self;
  ASSERT_TRUE(abt_ok(ABT_self_get_thread(&self)));
  EXPECT_TRUE(has(stack_of(self), "weft_dump_unit")) << stack_of(self);
}

// Those that are in it: not who waits, or runs.
TEST_F(AbtStacks, OfAPool) {
  const std::string said =
      written([](std::FILE* to) { return ABT_info_print_thread_stacks_in_pool(to, my_pool()); });
  EXPECT_TRUE(has(said, "info_yields_innermost")) << said;
  EXPECT_TRUE(has(said, "info_never_runs")) << said;
  EXPECT_FALSE(has(said, "info_waits")) << said;
}

struct Called {
  std::atomic<int> times = 0;
  std::atomic<int> timed_out = -1;
  static void back(ABT_bool timed_out, void* arg) {
    auto* called = static_cast<Called*>(arg);
    called->timed_out = timed_out;
    ++called->times;
  }
};

// All units, also those that are in no pool, when every ES has come by.
TEST_F(AbtStacks, OfAll) {
  ABT_xstream other;
  ASSERT_TRUE(abt_ok(ABT_xstream_create(ABT_SCHED_NULL, &other)));
  for (int round = 0; round < 3; ++round) {
    Called called;
    const std::string said = written([&](std::FILE* to) {
      const int error = ABT_info_trigger_print_all_thread_stacks(to, round == 0 ? -1 : 60, Called::back, &called);
      EXPECT_TRUE(wait_until([&] { return called.times == 1; }));
      return error;
    });
    EXPECT_EQ(called.timed_out, ABT_FALSE);
    EXPECT_TRUE(has(said, "info_waits")) << said;
    EXPECT_TRUE(has(said, "(main)")) << said;
    EXPECT_TRUE(has(said, "end of dump")) << said;
  }
  EXPECT_TRUE(abt_ok(ABT_xstream_free(&other)));
}

// An ES that does not come by is not waited for longer than it was said.
TEST_F(AbtStacks, OfAllInTime) {
  ABT_xstream other;
  ASSERT_TRUE(abt_ok(ABT_xstream_create(ABT_SCHED_NULL, &other)));
  ABT_thread busy;
  static std::atomic<bool> spins;
  static std::atomic<bool> stop;
  spins = false;
  stop = false;
  const auto spin = [](void*) {
    spins = true;
    while (!stop) std::this_thread::yield();
  };
  ASSERT_TRUE(abt_ok(ABT_thread_create_on_xstream(other, spin, nullptr, ABT_THREAD_ATTR_NULL, &busy)));
  ASSERT_TRUE(wait_until([&] { return spins.load(); }));
  Called called;
  const std::string said = written([&](std::FILE* to) {
    const int error = ABT_info_trigger_print_all_thread_stacks(to, 0.01, Called::back, &called);
    EXPECT_TRUE(wait_until([&] { return called.times == 1; }));
    return error;
  });
  EXPECT_EQ(called.timed_out, ABT_TRUE);
  EXPECT_TRUE(has(said, "info_waits")) << said;
  stop = true;
  EXPECT_TRUE(abt_ok(ABT_thread_free(&busy)));
  EXPECT_TRUE(abt_ok(ABT_xstream_free(&other)));
}

Called by_signal;
std::FILE* signal_file;

TEST_F(AbtStacks, OfAllFromASignalHandler) {
  struct sigaction action{};
  struct sigaction before;
  action.sa_handler = [](int) {
    ABT_info_trigger_print_all_thread_stacks(signal_file, -1, Called::back, &by_signal);
  };
  action.sa_flags = SA_ONSTACK;
  sigaction(SIGUSR1, &action, &before);
  const std::string said = written([&](std::FILE* to) {
    signal_file = to;
    raise(SIGUSR1);
    EXPECT_TRUE(wait_until([&] { return by_signal.times == 1; }));
    return ABT_SUCCESS;
  });
  EXPECT_TRUE(has(said, "info_waits")) << said;
  sigaction(SIGUSR1, &before, nullptr);
}

}  // namespace
