// ABT_tool_*: what a tool is told, in which order.
#include <algorithm>
#include <map>
#include <mutex>

#include "support/abt_units.hpp"

namespace {

using namespace weft_test;

class AbtTool : public AbtTestWith {
 protected:
  AbtTool() : AbtTestWith("ABT_ENABLE_TOOL", "yes") {}
};
class AbtNoTool : public AbtTest {};

struct Seen {
  uint64_t event;
  ABT_xstream xstream;
  ABT_pool pool;
  ABT_exec_entity_type caller_type;
  void* caller;
  int depth;
  ABT_sync_event_type sync;
  void* sync_handle;
};

struct Log {
  std::mutex lock;
  std::map<ABT_thread, std::vector<Seen>> of;
  std::vector<uint64_t> events(ABT_thread thread) {
    std::lock_guard hold(lock);
    std::vector<uint64_t> events;
    for (const Seen& seen : of[thread]) events.push_back(seen.event);
    return events;
  }
};

void note(ABT_thread thread, ABT_xstream xstream, uint64_t event, ABT_tool_context context, void* arg) {
  auto* log = static_cast<Log*>(arg);
  Seen seen{event, xstream, ABT_POOL_NULL, ABT_EXEC_ENTITY_TYPE_EXT, nullptr, -1, ABT_SYNC_EVENT_TYPE_UNKNOWN, nullptr};
  static_cast<void>(ABT_tool_query_thread(context, event, ABT_TOOL_QUERY_KIND_POOL, &seen.pool));
  EXPECT_TRUE(abt_ok(ABT_tool_query_thread(context, event, ABT_TOOL_QUERY_KIND_CALLER_TYPE, &seen.caller_type)));
  static_cast<void>(ABT_tool_query_thread(context, event, ABT_TOOL_QUERY_KIND_CALLER_HANDLE, &seen.caller));
  static_cast<void>(ABT_tool_query_thread(context, event, ABT_TOOL_QUERY_KIND_STACK_DEPTH, &seen.depth));
  static_cast<void>(ABT_tool_query_thread(context, event, ABT_TOOL_QUERY_KIND_SYNC_OBJECT_TYPE, &seen.sync));
  static_cast<void>(ABT_tool_query_thread(context, event, ABT_TOOL_QUERY_KIND_SYNC_OBJECT_HANDLE, &seen.sync_handle));
  EXPECT_TRUE(abt_fails(ABT_ERR_OTHER,
                        ABT_tool_query_thread(context, event, static_cast<ABT_tool_query_kind>(9), &seen.pool)));
  std::lock_guard hold(log->lock);
  log->of[thread].push_back(seen);
}

class Attached {
 public:
  explicit Attached(Log& log, uint64_t mask = ABT_TOOL_EVENT_THREAD_ALL) {
    EXPECT_TRUE(abt_ok(ABT_tool_register_thread_callback(note, mask, &log)));
  }
  ~Attached() {
    EXPECT_TRUE(abt_ok(ABT_tool_register_thread_callback(nullptr, ABT_TOOL_EVENT_THREAD_NONE, nullptr)));
  }
};

constexpr uint64_t kCreate = ABT_TOOL_EVENT_THREAD_CREATE, kJoin = ABT_TOOL_EVENT_THREAD_JOIN,
                   kFree = ABT_TOOL_EVENT_THREAD_FREE, kRevive = ABT_TOOL_EVENT_THREAD_REVIVE,
                   kRun = ABT_TOOL_EVENT_THREAD_RUN, kFinish = ABT_TOOL_EVENT_THREAD_FINISH,
                   kCancel = ABT_TOOL_EVENT_THREAD_CANCEL, kYield = ABT_TOOL_EVENT_THREAD_YIELD,
                   kSuspend = ABT_TOOL_EVENT_THREAD_SUSPEND, kResume = ABT_TOOL_EVENT_THREAD_RESUME;
using Events = std::vector<uint64_t>;

ABT_bool has_tools() {
  ABT_bool has = -1;
  EXPECT_TRUE(abt_ok(ABT_info_query_config(ABT_INFO_QUERY_KIND_ENABLED_TOOL, &has)));
  return has;
}

TEST_F(AbtTool, IsThereWhereItIsAskedFor) { EXPECT_EQ(has_tools(), ABT_TRUE); }

// As in Argobots that is not configured with it.
TEST_F(AbtNoTool, IsToldThatThereIsNone) {
  EXPECT_EQ(has_tools(), ABT_FALSE);
  Log log;
  EXPECT_TRUE(abt_fails(ABT_ERR_FEATURE_NA, ABT_tool_register_thread_callback(note, ABT_TOOL_EVENT_THREAD_ALL, &log)));
  EXPECT_TRUE(abt_fails(ABT_ERR_FEATURE_NA, ABT_tool_register_thread_callback(nullptr, 0, nullptr)));
  EXPECT_TRUE(abt_fails(ABT_ERR_INV_TOOL_CONTEXT,
                        ABT_tool_query_thread(ABT_TOOL_CONTEXT_NULL, ABT_TOOL_EVENT_THREAD_RUN,
                                              ABT_TOOL_QUERY_KIND_POOL, &log)));
}

TEST_F(AbtTool, TheLifeOfAUlt) {
  Log log;
  const Attached attached(log);
  AbtCall call([] {
    ABT_thread_yield();
    EXPECT_TRUE(abt_ok(ABT_self_suspend()));
  });
  const ABT_thread thread = call.thread(main_pool());
  ABT_thread handle = thread;
  EXPECT_TRUE(abt_wait_until([&] { return state_of(thread) == ABT_THREAD_STATE_BLOCKED; }));
  EXPECT_TRUE(abt_ok(ABT_thread_resume(thread)));
  EXPECT_TRUE(abt_ok(ABT_thread_join(thread)));
  EXPECT_TRUE(abt_ok(ABT_thread_revive(main_pool(), [](void*) {}, nullptr, &handle)));
  EXPECT_TRUE(abt_ok(ABT_thread_free(&handle)));
  EXPECT_EQ(log.events(thread), (Events{kCreate, kRun, kYield, kRun, kSuspend, kResume, kRun, kFinish, kJoin, kRevive,
                                        kRun, kFinish, kJoin, kFree}));
  ABT_thread self;
  ABT_xstream xstream;
  EXPECT_TRUE(abt_ok(ABT_self_get_thread(&self)));
  EXPECT_TRUE(abt_ok(ABT_self_get_xstream(&xstream)));
  for (const Seen& seen : log.of[thread]) {
    EXPECT_EQ(seen.xstream, xstream);
    EXPECT_EQ(seen.caller_type, ABT_EXEC_ENTITY_TYPE_THREAD);
    if (seen.event == kCreate || seen.event == kJoin) {
      EXPECT_EQ(seen.caller, self);
    }
    if (seen.event == kYield || seen.event == kCreate) {
      EXPECT_EQ(seen.pool, main_pool());
    }
    if (seen.event == kRun) {
      EXPECT_EQ(seen.depth, 1);
    }
    if (seen.event == kSuspend) {
      EXPECT_EQ(seen.sync, ABT_SYNC_EVENT_TYPE_USER);
    }
  }
}

// Who resumes one, runs one as a scheduler does, or gives it its place: by that one's handle, and not the main scheduler's.
TEST_F(AbtTool, WhoDoesIt) {
  Log log;
  const Attached attached(log);
  ABT_thread self, resumer = ABT_THREAD_NULL, unnamed = ABT_THREAD_NULL, made = ABT_THREAD_NULL;
  ASSERT_TRUE(abt_ok(ABT_self_get_thread(&self)));
  AbtCall suspends([] { EXPECT_TRUE(abt_ok(ABT_self_suspend())); });
  ABT_thread handle = suspends.thread(main_pool());
  const ABT_thread thread = handle;
  EXPECT_TRUE(abt_wait_until([&] { return state_of(thread) == ABT_THREAD_STATE_BLOCKED; }));
  AbtCall child([] {});
  AbtCall resumes([&] {
    EXPECT_TRUE(abt_ok(ABT_thread_resume(thread)));
    EXPECT_TRUE(abt_ok(ABT_thread_create_to(main_pool(), &AbtCall::run, &child, ABT_THREAD_ATTR_NULL, &made)));
  });
  AbtCall unnamed_one([&] { EXPECT_TRUE(abt_ok(ABT_self_get_thread(&unnamed))); });
  AbtCall schedules([&] {
    EXPECT_TRUE(abt_ok(ABT_self_get_thread(&resumer)));
    EXPECT_TRUE(abt_ok(ABT_thread_create(main_pool(), &AbtCall::run, &unnamed_one, ABT_THREAD_ATTR_NULL, nullptr)));
    for (ABT_thread popped = ABT_THREAD_NULL;;) {
      EXPECT_TRUE(abt_ok(ABT_pool_pop_thread(main_pool(), &popped)));
      if (popped == ABT_THREAD_NULL) return;
      if (popped == self) {
        EXPECT_TRUE(abt_ok(ABT_pool_push_thread(main_pool(), popped)));
      } else {
        EXPECT_TRUE(abt_ok(ABT_self_schedule(popped, ABT_POOL_NULL)));
        return AbtCall::run(&resumes);
      }
    }
  });
  ABT_thread scheduler = schedules.thread(main_pool());
  EXPECT_TRUE(abt_ok(ABT_thread_join(scheduler)));
  EXPECT_TRUE(abt_ok(ABT_thread_join(made)));
  EXPECT_TRUE(abt_ok(ABT_thread_join(thread)));
  const auto caller = [&log](ABT_thread of, uint64_t event) {
    const std::vector<Seen>& seen = log.of[of];
    const auto found = std::find_if(seen.rbegin(), seen.rend(), [=](const Seen& each) { return each.event == event; });
    return found != seen.rend() ? found->caller : nullptr;
  };
  EXPECT_EQ(caller(thread, kResume), scheduler);
  EXPECT_EQ(caller(made, kRun), scheduler);
  EXPECT_EQ(caller(unnamed, kRun), scheduler);
  EXPECT_EQ(caller(unnamed, kFree), scheduler);
  EXPECT_TRUE(abt_ok(ABT_thread_free(&scheduler)));
  EXPECT_TRUE(abt_ok(ABT_thread_free(&made)));
  EXPECT_TRUE(abt_ok(ABT_thread_free(&handle)));
}

// Whether or not there is anybody else to run.
TEST_F(AbtTool, OfEveryYield) {
  Log log;
  const Attached attached(log);
  ABT_thread self;
  ASSERT_TRUE(abt_ok(ABT_self_get_thread(&self)));
  EXPECT_TRUE(abt_ok(ABT_self_yield()));
  EXPECT_TRUE(abt_ok(ABT_self_yield()));
  EXPECT_EQ(log.events(self), (Events{kYield, kRun, kYield, kRun}));
}

// The one that ends resumes its joiner, which goes on in its place.
TEST_F(AbtTool, OfAJoinerThatGoesOnAtOnce) {
  Log log;
  const Attached attached(log);
  AbtCall joined([] { EXPECT_TRUE(abt_ok(ABT_self_yield())); });
  ABT_thread first = joined.thread(main_pool());
  const ABT_thread ends = first;
  AbtCall joins([&] { EXPECT_TRUE(abt_ok(ABT_thread_free(&first))); });
  ABT_thread second = joins.thread(main_pool());
  const ABT_thread joiner = second;
  EXPECT_TRUE(abt_ok(ABT_thread_free(&second)));
  EXPECT_EQ(log.events(joiner), (Events{kCreate, kRun, kSuspend, kResume, kRun, kFinish, kJoin, kFree}));
  const std::vector<Seen>& seen = log.of[joiner];
  EXPECT_EQ(seen[2].sync, ABT_SYNC_EVENT_TYPE_THREAD_JOIN);
  EXPECT_EQ(seen[3].caller, ends);
  EXPECT_EQ(seen[4].caller, ends);
}

TEST_F(AbtTool, OfUnnamedAndCancelledOnes) {
  Log log;
  const Attached attached(log);
  ABT_thread unnamed = ABT_THREAD_NULL;
  AbtCall call([&] { EXPECT_TRUE(abt_ok(ABT_self_get_thread(&unnamed))); });
  EXPECT_TRUE(abt_ok(ABT_thread_create(main_pool(), &AbtCall::run, &call, ABT_THREAD_ATTR_NULL, nullptr)));
  ABT_thread_yield();
  EXPECT_EQ(log.events(unnamed), (Events{kCreate, kRun, kFinish, kFree}));
  log.of.clear();
  ABT_task task = call.task(main_pool());
  const ABT_thread cancelled = task;
  EXPECT_TRUE(abt_ok(ABT_task_cancel(task)));
  EXPECT_TRUE(abt_ok(ABT_task_free(&task)));
  EXPECT_EQ(log.events(cancelled), (Events{kCreate, kCancel, kJoin, kFree}));
}

TEST_F(AbtTool, OfOneThatWaits) {
  Log log;
  const Attached attached(log);
  ABT_mutex mutex;
  ASSERT_TRUE(abt_ok(ABT_mutex_create(&mutex)));
  EXPECT_TRUE(abt_ok(ABT_mutex_lock(mutex)));
  AbtCall call([&] {
    EXPECT_TRUE(abt_ok(ABT_mutex_lock(mutex)));
    EXPECT_TRUE(abt_ok(ABT_mutex_unlock(mutex)));
  });
  ABT_thread handle = call.thread(main_pool());
  const ABT_thread thread = handle;
  EXPECT_TRUE(abt_wait_until([&] { return state_of(thread) == ABT_THREAD_STATE_BLOCKED; }));
  EXPECT_TRUE(abt_ok(ABT_mutex_unlock(mutex)));
  EXPECT_TRUE(abt_ok(ABT_thread_free(&handle)));
  EXPECT_EQ(log.events(thread), (Events{kCreate, kRun, kSuspend, kResume, kRun, kFinish, kJoin, kFree}));
  EXPECT_EQ(log.of[thread][2].sync, ABT_SYNC_EVENT_TYPE_MUTEX);
  EXPECT_EQ(log.of[thread][2].sync_handle, mutex);
  EXPECT_TRUE(abt_ok(ABT_mutex_free(&mutex)));
}

// What is waited for, by its handle, wherever in the program's memory it lies.
TEST_F(AbtTool, OfWhatIsWaitedFor) {
  alignas(8) int room[3 * 16 + 3] = {};
  ABT_rwlock rwlock;
  ABT_barrier barrier;
  ABT_future future;
  ASSERT_TRUE(abt_ok(ABT_rwlock_create(&rwlock)));
  ASSERT_TRUE(abt_ok(ABT_barrier_create(2, &barrier)));
  ASSERT_TRUE(abt_ok(ABT_future_create(1, nullptr, &future)));
  for (const int shift : {0, 1}) {
    std::fill(std::begin(room), std::end(room), 0);
    const ABT_mutex mutex = ABT_MUTEX_MEMORY_GET_HANDLE(room + shift);
    const ABT_cond cond = ABT_COND_MEMORY_GET_HANDLE(room + 16 + shift);
    const ABT_eventual eventual = ABT_EVENTUAL_MEMORY_GET_HANDLE(room + 32 + shift);
    Log log;
    const Attached attached(log);
    EXPECT_TRUE(abt_ok(ABT_mutex_lock(mutex)));
    EXPECT_TRUE(abt_ok(ABT_rwlock_wrlock(rwlock)));
    const auto blocked = [](ABT_thread thread) {
      return abt_wait_until([&] { return state_of(thread) == ABT_THREAD_STATE_BLOCKED; });
    };
    AbtCall call([&] {
      EXPECT_TRUE(abt_ok(ABT_mutex_lock(mutex)));
      EXPECT_TRUE(abt_ok(ABT_cond_wait(cond, mutex)));
      EXPECT_TRUE(abt_ok(ABT_mutex_unlock(mutex)));
      EXPECT_TRUE(abt_ok(ABT_eventual_wait(eventual, nullptr)));
      EXPECT_TRUE(abt_ok(ABT_rwlock_rdlock(rwlock)));
      EXPECT_TRUE(abt_ok(ABT_rwlock_unlock(rwlock)));
      EXPECT_TRUE(abt_ok(ABT_barrier_wait(barrier)));
      EXPECT_TRUE(abt_ok(ABT_future_wait(future)));
    });
    ABT_thread handle = call.thread(main_pool());
    const ABT_thread thread = handle;
    EXPECT_TRUE(blocked(thread));
    EXPECT_TRUE(abt_ok(ABT_mutex_unlock(mutex)));
    const auto suspended = [&](size_t times) {
      return abt_wait_until([&] {
        const Events events = log.events(thread);
        return static_cast<size_t>(std::count(events.begin(), events.end(), kSuspend)) == times;
      });
    };
    EXPECT_TRUE(suspended(2));
    EXPECT_TRUE(abt_ok(ABT_cond_signal(cond)));
    EXPECT_TRUE(suspended(3));
    EXPECT_TRUE(abt_ok(ABT_eventual_set(eventual, nullptr, 0)));
    EXPECT_TRUE(suspended(4));
    EXPECT_TRUE(abt_ok(ABT_rwlock_unlock(rwlock)));
    EXPECT_TRUE(suspended(5));
    EXPECT_TRUE(abt_ok(ABT_barrier_wait(barrier)));
    EXPECT_TRUE(suspended(6));
    EXPECT_TRUE(abt_ok(ABT_future_set(future, nullptr)));
    EXPECT_TRUE(abt_ok(ABT_thread_free(&handle)));
    std::vector<std::pair<int, void*>> waits;
    for (const Seen& seen : log.of[thread]) {
      if (seen.event == kSuspend) waits.emplace_back(seen.sync, seen.sync_handle);
    }
    const std::vector<std::pair<int, void*>> expected = {
        {ABT_SYNC_EVENT_TYPE_MUTEX, mutex},   {ABT_SYNC_EVENT_TYPE_COND, cond},
        {ABT_SYNC_EVENT_TYPE_EVENTUAL, eventual}, {ABT_SYNC_EVENT_TYPE_RWLOCK, rwlock},
        {ABT_SYNC_EVENT_TYPE_BARRIER, barrier},   {ABT_SYNC_EVENT_TYPE_FUTURE, future}};
    EXPECT_EQ(waits, expected);
    EXPECT_TRUE(abt_ok(ABT_future_reset(future)));
  }
  EXPECT_TRUE(abt_ok(ABT_rwlock_free(&rwlock)));
  EXPECT_TRUE(abt_ok(ABT_barrier_free(&barrier)));
  EXPECT_TRUE(abt_ok(ABT_future_free(&future)));
}

TEST_F(AbtTool, OfOneThatJoinsAnXstream) {
  Log log;
  const Attached attached(log);
  ABT_xstream xstream;
  ASSERT_TRUE(abt_ok(ABT_xstream_create(ABT_SCHED_NULL, &xstream)));
  std::atomic<bool> go = false;
  AbtCall keeps([&] {
    while (!go) std::this_thread::yield();
  });
  ABT_thread kept = keeps.thread(main_pool_of(xstream));
  AbtCall joins([&] { EXPECT_TRUE(abt_ok(ABT_xstream_join(xstream))); });
  ABT_thread handle = joins.thread(main_pool());
  const ABT_thread thread = handle;
  EXPECT_TRUE(abt_wait_until([&] { return state_of(thread) == ABT_THREAD_STATE_BLOCKED; }));
  go = true;
  EXPECT_TRUE(abt_ok(ABT_thread_free(&handle)));
  EXPECT_TRUE(abt_ok(ABT_thread_free(&kept)));
  EXPECT_EQ(log.events(thread), (Events{kCreate, kRun, kSuspend, kResume, kRun, kFinish, kJoin, kFree}));
  EXPECT_EQ(log.of[thread][2].sync, ABT_SYNC_EVENT_TYPE_XSTREAM_JOIN);
  EXPECT_EQ(log.of[thread][2].sync_handle, xstream);
  EXPECT_TRUE(abt_ok(ABT_xstream_free(&xstream)));
}

TEST_F(AbtTool, OfNestedOnesAndThreads) {
  Log log;
  const Attached attached(log);
  APool pool;
  ABT_thread inner = ABT_THREAD_NULL;
  AbtCall call([] {});
  on_external([&] { inner = call.thread(pool); });
  EXPECT_EQ(log.of[inner][0].caller_type, ABT_EXEC_ENTITY_TYPE_EXT);
  EXPECT_EQ(log.of[inner][0].xstream, ABT_XSTREAM_NULL);
  ABT_thread outer = ABT_THREAD_NULL;
  in_abt_ult([&] {
    EXPECT_TRUE(abt_ok(ABT_self_get_thread(&outer)));
    ABT_thread popped;
    EXPECT_TRUE(abt_ok(ABT_pool_pop_thread(pool, &popped)));
    EXPECT_TRUE(abt_ok(ABT_self_schedule(popped, ABT_POOL_NULL)));
  });
  EXPECT_EQ(log.events(inner), (Events{kCreate, kRun, kFinish}));
  EXPECT_EQ(log.of[inner][1].depth, 2);
  EXPECT_EQ(log.of[inner][1].caller, outer);
  EXPECT_TRUE(abt_ok(ABT_thread_free(&inner)));
}

TEST_F(AbtTool, OnlyWhatIsAskedFor) {
  Log log;
  {
    const Attached attached(log, kFinish);
    in_abt_ult([] { ABT_thread_yield(); });
    ASSERT_EQ(log.of.size(), 1u);
    EXPECT_EQ(log.of.begin()->second.size(), 1u);
    EXPECT_EQ(log.of.begin()->second[0].event, kFinish);
  }
  log.of.clear();
  in_abt_ult([] {});  // it has gone
  EXPECT_TRUE(log.of.empty());
  EXPECT_TRUE(abt_fails(ABT_ERR_INV_TOOL_CONTEXT,
                        ABT_tool_query_thread(ABT_TOOL_CONTEXT_NULL, kRun, ABT_TOOL_QUERY_KIND_POOL, &log)));
}

// On two execution streams every unit's events are in an order that makes sense.
TEST_F(AbtTool, AnOrderThatMakesSense) {
  Log log;
  const Attached attached(log);
  const AnXstream other;
  ABT_mutex mutex;
  ASSERT_TRUE(abt_ok(ABT_mutex_create(&mutex)));
  AbtCall call([&] {
    for (int i = 0; i < 10; ++i) {
      EXPECT_TRUE(abt_ok(ABT_mutex_lock(mutex)));
      ABT_thread_yield();
      EXPECT_TRUE(abt_ok(ABT_mutex_unlock(mutex)));
    }
  });
  std::vector<ABT_thread> threads;
  for (int i = 0; i < 10; ++i) threads.push_back(call.thread(i % 2 == 0 ? main_pool() : other.pool()));
  const auto all = threads;
  for (ABT_thread& thread : threads) EXPECT_TRUE(abt_ok(ABT_thread_join(thread)));
  for (const ABT_thread thread : all) {
    uint64_t before = 0;
    for (const uint64_t event : log.events(thread)) {
      const bool right = (event == kCreate && before == 0) ||
                         (event == kRun && (before == kCreate || before == kYield || before == kResume)) ||
                         (event == kResume && before == kSuspend) || (event == kJoin && before == kFinish) ||
                         ((event == kYield || event == kSuspend || event == kFinish) && before == kRun);
      EXPECT_TRUE(right) << event << " after " << before;
      before = event;
    }
    EXPECT_EQ(before, kJoin);
  }
  for (ABT_thread& thread : threads) EXPECT_TRUE(abt_ok(ABT_thread_free(&thread)));
  EXPECT_TRUE(abt_ok(ABT_mutex_free(&mutex)));
}

}  // namespace
