// Stacks that code may run on: if something asks that is there when the runtime starts, or is loaded later; and else they are none.
// Each in a child: what has been allowed stays so.
#include <dlfcn.h>
#include <signal.h>

#include <cstdlib>
#include <cstring>
#include <functional>
#include <string>
#include <thread>

#include "os/signal_mask.hpp"
#include "support/forked_child.hpp"
#include "support/runtime_fixture.hpp"

namespace {

using namespace weft_test;

// mov $n, %eax; ret
class Code {
 public:
  explicit Code(int n) { std::memcpy(bytes_ + 1, &n, sizeof n); }
  int run() const {
    int result = 0;
    asm volatile("call *%1" : "=a"(result) : "r"(bytes_) : "memory", "cc", "rcx", "rdx", "rsi", "rdi", "r8", "r9", "r10", "r11");
    return result;
  }

 private:
  unsigned char bytes_[6] = {0xb8, 0, 0, 0, 0, 0xc3};
};

[[gnu::noinline]] void run_code_here() {
  const Code code(42);
  CHILD_CHECK(code.run() == 42);
}

// A C library may refuse to load one that late (glibc 2.41).
bool load_one_that_asks() { return dlopen(WEFT_ASKS_FOR_CODE, RTLD_NOW) != nullptr; }

void in_default_size(const std::function<void()>& then) {
  in_ult([&] {
    then();
    run_code_here();
  });
}

void in_another_size(const std::function<void()>& then) {
  weft_unit_attr_t attr = WEFT_UNIT_ATTR_INIT;
  attr.stack_size = 300 << 10;
  in_ult([&] {
    then();
    run_code_here();
  }, &attr);
}

// Its stack is a part of one.
void with_an_identity(const std::function<void()>& then) {
  weft_unit_attr_t attr = WEFT_UNIT_ATTR_INIT;
  attr.identity = WEFT_IDENTITY_OWN;
  Call call([&] {
    then();
    run_code_here();
  });
  weft_unit_t unit = nullptr;
  const int error = weft_ult_create(&Call::run, &call, &attr, &unit);
  if (error == WEFT_ERR_UNSUPPORTED) return in_default_size(then);
  CHILD_OK(error);
  CHILD_OK(weft_free(&unit));
}

void in_tasklet(const std::function<void()>& then) {
  weft_test::in_tasklet([&] {
    then();
    run_code_here();
  });
}

void on_stack_of_another(const std::function<void()>& then) {
  in_ult([&] {
    const Code code(43);
    then();
    in_ult([&] { CHILD_CHECK(code.run() == 43); });
  });
}

void on_stack_of_a_waiting_one(const std::function<void()>& then) {
  weft_unit_attr_t attr = WEFT_UNIT_ATTR_INIT;
  attr.stack_size = 300 << 10;
  const Code* code = nullptr;
  bool over = false;
  Call waits([&] {
    const Code its(44);
    code = &its;
    while (!over) weft_yield();
  });
  weft_unit_t waiting = waits.ult(&attr);
  while (code == nullptr) weft_yield();
  then();
  CHILD_CHECK(code->run() == 44);
  over = true;
  CHILD_OK(weft_free(&waiting));
}

void by_a_thread(const std::function<void()>& then) {
  if (!kChildMayStartThreads) return in_default_size(then);
  in_ult([&] {
    const Code code(45);
    then();
    std::thread([&] { CHILD_CHECK(code.run() == 45); }).join();
  });
}

void of_more_than_a_batch(const std::function<void()>& then) {
  constexpr int kUlts = 150;
  std::vector<std::unique_ptr<Call>> calls;
  std::vector<weft_unit_t> units;
  bool loaded = false;
  for (int i = 0; i < kUlts; ++i) {
    calls.push_back(std::make_unique<Call>([&] {
      while (!loaded) weft_yield();
      run_code_here();
    }));
    units.push_back(calls.back()->ult());
  }
  for (int i = 0; i < 5; ++i) weft_yield();  // all have their stacks
  then();
  loaded = true;
  CHILD_OK(weft_free_many(units.size(), units.data()));
}

struct Place {
  const char* name;
  void (*run)(const std::function<void()>& then);
};
const Place kPlaces[] = {{"DefaultSize", in_default_size},       {"AnotherSize", in_another_size},
                         {"WithAnIdentity", with_an_identity},
                         {"Tasklet", in_tasklet},                {"StackOfAnother", on_stack_of_another},
                         {"StackOfAWaitingOne", on_stack_of_a_waiting_one}, {"ByAThread", by_a_thread},
                         {"MoreThanABatch", of_more_than_a_batch}};

struct Setting {
  const char* name;
  const char* option;
  const char* value;
};
const Setting kSettings[] = {{"GuardMadvise", "WEFT_STACK_GUARD", "madvise"},
                             {"GuardMprotect", "WEFT_STACK_GUARD", "mprotect"},
                             {"GuardOff", "WEFT_STACK_GUARD", "off"},
                             {"HugePages", "WEFT_HUGE_PAGES", "transparent"}};

class StackCode : public testing::TestWithParam<std::tuple<Place, Setting>> {
 protected:
  static const Place& place() { return std::get<0>(GetParam()); }
  static int with_runtime(const std::function<void()>& before, const std::function<void()>& f) {
    return run_in_child([&] {
      const Setting& setting = std::get<1>(GetParam());
      setenv(setting.option, setting.value, 1);
      before();
      weft_options_t options{};
      options.workers = 1;
      CHILD_OK(weft_initialize(&options));
      f();
      CHILD_OK(weft_finalize());
    });
  }
};
INSTANTIATE_TEST_SUITE_P(All, StackCode, testing::Combine(testing::ValuesIn(kPlaces), testing::ValuesIn(kSettings)), [](const auto& info) {
  return std::string(std::get<0>(info.param).name) + std::get<1>(info.param).name;
});

// False: the C library says that it may not have such stacks any more. Any other failure is one.
bool loads() {
  constexpr int kRefused = 77;
  const int status = run_in_child([] {
    if (load_one_that_asks()) return;
    const std::string why = dlerror();
    if (why.find("executable stack") != std::string::npos) _exit(kRefused);
    std::fprintf(stderr, "%s\n", why.c_str());
    CHILD_CHECK(false);
  });
  EXPECT_TRUE(status == 0 || status == kRefused);
  return status != kRefused;
}

// Not by a fault, which a debugger would stop at: here it would end the child.
TEST_P(StackCode, IsAllowedFromTheBeginning) {
  if (!loads()) GTEST_SKIP() << "the C library loads no such library";
  const int status = with_runtime(
      [] {
        CHILD_CHECK(load_one_that_asks());
        sigset_t faults;
        sigemptyset(&faults);
        sigaddset(&faults, SIGSEGV);
        weft::rt::set_signal_mask(SIG_BLOCK, &faults, nullptr);
      },
      [] { place().run([] {}); });
  EXPECT_EQ(status, 0);
}

TEST_P(StackCode, IsAllowedWhenALibraryIsLoadedThatAsks) {
  if (!loads()) GTEST_SKIP() << "the C library loads no such library";
  EXPECT_EQ(with_runtime([] {}, [] { place().run([] { CHILD_CHECK(load_one_that_asks()); }); }), 0);
}

TEST_P(StackCode, IsAFaultIfNobodyAsks) {
  const bool asked = run_in_child([] {
    signal(SIGSEGV, SIG_DFL);
    run_code_here();
  }) == 0;
  if (asked) GTEST_SKIP() << "this program has been built with such stacks";
  EXPECT_EQ(with_runtime([] { signal(SIGSEGV, SIG_DFL); }, [] { place().run([] {}); }), -SIGSEGV);
}

}  // namespace
