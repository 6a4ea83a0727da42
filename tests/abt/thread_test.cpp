// ABT_thread_*: made, joined, freed, revived, cancelled, ended; yielding and suspending; what can be asked.
#include <atomic>

#include "support/abt_units.hpp"

namespace {

using namespace weft_test;

class AbtThread : public AbtTest {};

void nothing(void*) {}

TEST_F(AbtThread, CreateJoinFree) {
  int ran = 0;
  AbtCall call([&] { ++ran; });
  ABT_thread thread = call.thread(main_pool());
  EXPECT_EQ(state_of(thread), ABT_THREAD_STATE_READY);
  EXPECT_EQ(ran, 0);  // it is pushed, and never run at once
  EXPECT_TRUE(abt_ok(ABT_thread_join(thread)));
  EXPECT_EQ(ran, 1);
  EXPECT_EQ(state_of(thread), ABT_THREAD_STATE_TERMINATED);
  EXPECT_TRUE(abt_ok(ABT_thread_join(thread)));  // as often as one likes
  EXPECT_TRUE(abt_ok(ABT_thread_free(&thread)));
  EXPECT_EQ(thread, ABT_THREAD_NULL);
}

TEST_F(AbtThread, JoinedFromEachContext) {
  const AnXstream other;
  int ran = 0;
  for (const ABT_pool pool : {main_pool(), other.pool()}) {
    for (const bool task : {false, true}) {
      AbtCall call([&] { ++ran; });
      const auto join = [&] {
        ABT_thread thread = task ? call.task(pool) : call.thread(pool);
        EXPECT_TRUE(abt_ok(ABT_thread_join(thread)));
        EXPECT_TRUE(abt_ok(ABT_thread_free(&thread)));
      };
      join();
      in_abt_ult(join);
      on_external(join);
      if (pool != main_pool()) in_abt_task(join);  // it blocks its ES, so the unit must run elsewhere
    }
  }
  EXPECT_EQ(ran, 14);
}

// Who resumes looks at the state: what is seen blocked has not been resumed yet.
TEST_F(AbtThread, ResumedAsSoonAsItIsSeenBlocked) {
  constexpr int kTimes = 20'000;
  const AnXstream other;
  std::atomic<int> woken{0};
  AbtCall call([&] {
    while (woken < kTimes) {
      EXPECT_TRUE(abt_ok(ABT_self_suspend()));
      ++woken;
    }
  });
  ABT_thread thread = call.thread(other.pool());
  for (int resumed = 0; resumed < kTimes; ++resumed) {
    while (state_of(thread) != ABT_THREAD_STATE_BLOCKED) continue;
    EXPECT_EQ(woken, resumed);
    ASSERT_TRUE(abt_ok(ABT_thread_resume(thread)));
  }
  EXPECT_TRUE(abt_ok(ABT_thread_free(&thread)));
}

TEST_F(AbtThread, WhoMayNotBeJoined) {
  ABT_thread self;
  EXPECT_TRUE(abt_ok(ABT_self_get_thread(&self)));
  ABT_thread none = ABT_THREAD_NULL;
  EXPECT_TRUE(abt_fails(ABT_ERR_INV_THREAD, ABT_thread_join(none)));
  EXPECT_TRUE(abt_fails(ABT_ERR_INV_THREAD, ABT_thread_free(&none)));
  EXPECT_TRUE(abt_fails(ABT_ERR_INV_THREAD, ABT_thread_join(self)));
  EXPECT_TRUE(abt_fails(ABT_ERR_INV_THREAD, ABT_thread_cancel(self)));
  ABT_thread primary = self;
  EXPECT_TRUE(abt_fails(ABT_ERR_INV_THREAD, ABT_thread_free(&primary)));
  EXPECT_EQ(primary, self);
  in_abt_ult([&] {
    ABT_thread me;
    EXPECT_TRUE(abt_ok(ABT_self_get_thread(&me)));
    EXPECT_TRUE(abt_fails(ABT_ERR_INV_THREAD, ABT_thread_join(me)));
    EXPECT_TRUE(abt_fails(ABT_ERR_INV_THREAD, ABT_thread_join(primary)));
  });
}

TEST_F(AbtThread, WrongArguments) {
  ABT_thread thread = nullptr;
  ABT_thread none = ABT_THREAD_NULL;
  EXPECT_TRUE(abt_fails(ABT_ERR_INV_POOL,
                        ABT_thread_create(ABT_POOL_NULL, nothing, nullptr, ABT_THREAD_ATTR_NULL, &thread)));
  EXPECT_EQ(thread, kAbt20 ? nullptr : ABT_THREAD_NULL);
  EXPECT_TRUE(abt_fails(ABT_ERR_INV_POOL,
                        ABT_thread_create_to(ABT_POOL_NULL, nothing, nullptr, ABT_THREAD_ATTR_NULL, &thread)));
  EXPECT_TRUE(abt_fails(ABT_ERR_INV_XSTREAM, ABT_thread_create_on_xstream(ABT_XSTREAM_NULL, nothing, nullptr,
                                                                           ABT_THREAD_ATTR_NULL, &thread)));
  EXPECT_TRUE(abt_fails(ABT_ERR_INV_THREAD, ABT_thread_revive(main_pool(), nothing, nullptr, &none)));
  EXPECT_TRUE(abt_fails(ABT_ERR_INV_THREAD, ABT_thread_revive_to(main_pool(), nothing, nullptr, &none)));
  ABT_thread_state state;
  ABT_xstream xstream;
  ABT_pool pool;
  ABT_unit unit;
  ABT_bool flag;
  ABT_thread_attr attr;
  ABT_unit_id id;
  int number;
  size_t size;
  void* pointer;
  void (*function)(void*);
  EXPECT_TRUE(abt_fails(ABT_ERR_INV_THREAD, ABT_thread_get_state(none, &state)));
  EXPECT_TRUE(abt_fails(ABT_ERR_INV_THREAD, ABT_thread_get_last_xstream(none, &xstream)));
  EXPECT_TRUE(abt_fails(ABT_ERR_INV_THREAD, ABT_thread_get_last_pool(none, &pool)));
  EXPECT_TRUE(abt_fails(ABT_ERR_INV_THREAD, ABT_thread_get_last_pool_id(none, &number)));
  EXPECT_TRUE(abt_fails(ABT_ERR_INV_THREAD, ABT_thread_get_unit(none, &unit)));
  EXPECT_TRUE(abt_fails(ABT_ERR_INV_THREAD, ABT_thread_set_associated_pool(none, main_pool())));
  EXPECT_TRUE(abt_fails(ABT_ERR_INV_THREAD, ABT_thread_yield_to(none)));
  EXPECT_TRUE(abt_fails(ABT_ERR_INV_THREAD, ABT_thread_resume(none)));
  EXPECT_TRUE(abt_fails(ABT_ERR_INV_THREAD, ABT_thread_cancel(none)));
  EXPECT_TRUE(abt_fails(ABT_ERR_INV_THREAD, ABT_thread_is_primary(none, &flag)));
  EXPECT_TRUE(abt_fails(ABT_ERR_INV_THREAD, ABT_thread_is_unnamed(none, &flag)));
  EXPECT_TRUE(abt_fails(ABT_ERR_INV_THREAD, ABT_thread_is_migratable(none, &flag)));
  EXPECT_TRUE(abt_fails(ABT_ERR_INV_THREAD, ABT_thread_set_migratable(none, ABT_TRUE)));
  EXPECT_TRUE(abt_fails(ABT_ERR_INV_THREAD, ABT_thread_get_stacksize(none, &size)));
  EXPECT_TRUE(abt_fails(ABT_ERR_INV_THREAD, ABT_thread_get_stack(none, &pointer, &size)));
  EXPECT_TRUE(abt_fails(ABT_ERR_INV_THREAD, ABT_thread_get_id(none, &id)));
  EXPECT_TRUE(abt_fails(ABT_ERR_INV_THREAD, ABT_thread_set_arg(none, nullptr)));
  EXPECT_TRUE(abt_fails(ABT_ERR_INV_THREAD, ABT_thread_get_arg(none, &pointer)));
  EXPECT_TRUE(abt_fails(ABT_ERR_INV_THREAD, ABT_thread_get_thread_func(none, &function)));
  EXPECT_TRUE(abt_fails(ABT_ERR_INV_THREAD, ABT_thread_get_attr(none, &attr)));
  EXPECT_TRUE(abt_fails(ABT_ERR_INV_THREAD, ABT_thread_set_callback(none, nullptr, nullptr)));
  EXPECT_TRUE(abt_fails(ABT_ERR_INV_UNIT, ABT_unit_get_thread(ABT_UNIT_NULL, &thread)));
  EXPECT_TRUE(abt_fails(ABT_ERR_INV_UNIT, ABT_unit_set_associated_pool(ABT_UNIT_NULL, main_pool())));
}

TEST_F(AbtThread, ManyAtOnce) {
  ABT_pool pools[4];
  void (*functions[4])(void*);
  int counts[4] = {};
  void* args[4];
  ABT_thread threads[5];
  for (int i = 0; i < 4; ++i) {
    pools[i] = main_pool();
    functions[i] = [](void* arg) { ++*static_cast<int*>(arg); };
    args[i] = &counts[i];
  }
  EXPECT_TRUE(abt_ok(ABT_thread_create_many(4, pools, functions, args, ABT_THREAD_ATTR_NULL, threads)));
  threads[4] = ABT_THREAD_NULL;  // left out
  EXPECT_TRUE(abt_ok(ABT_thread_join_many(5, threads)));
  EXPECT_TRUE(abt_ok(ABT_thread_free_many(5, threads)));
  EXPECT_TRUE(abt_ok(ABT_thread_create_many(4, pools, functions, args, ABT_THREAD_ATTR_NULL, nullptr)));
  EXPECT_TRUE(abt_wait_until([&] { return counts[3] == 2; }));
  for (const int count : counts) EXPECT_EQ(count, 2);
}

// An unnamed unit frees itself, but may be asked what it is while it runs.
TEST_F(AbtThread, Unnamed) {
  int seen = 0;
  AbtCall call([&] {
    ABT_bool unnamed = ABT_FALSE;
    EXPECT_TRUE(abt_ok(ABT_self_is_unnamed(&unnamed)));
    EXPECT_EQ(unnamed, ABT_TRUE);
    ABT_thread self;
    EXPECT_TRUE(abt_ok(ABT_self_get_thread(&self)));
    EXPECT_TRUE(abt_ok(ABT_thread_is_unnamed(self, &unnamed)));
    EXPECT_EQ(unnamed, ABT_TRUE);
    void* arg;
    EXPECT_TRUE(abt_ok(ABT_thread_get_arg(self, &arg)));
    EXPECT_NE(arg, nullptr);
    EXPECT_TRUE(abt_fails(ABT_ERR_INV_THREAD, ABT_thread_join(self)));
    ++seen;
  });
  for (int i = 0; i < 3; ++i) {
    EXPECT_TRUE(abt_ok(ABT_thread_create(main_pool(), &AbtCall::run, &call, ABT_THREAD_ATTR_NULL, nullptr)));
    EXPECT_TRUE(abt_ok(ABT_task_create(main_pool(), &AbtCall::run, &call, nullptr)));
  }
  EXPECT_TRUE(abt_wait_until([&] { return seen == 6; }));
  in_abt_ult([] {
    ABT_bool unnamed = ABT_TRUE;
    EXPECT_TRUE(abt_ok(ABT_self_is_unnamed(&unnamed)));
    EXPECT_EQ(unnamed, ABT_FALSE);
  });
}

TEST_F(AbtThread, OnAnXstream) {
  const AnXstream other;
  int rank = -1;
  AbtCall call([&] { rank = my_rank(); });
  ABT_thread thread;
  EXPECT_TRUE(
      abt_ok(ABT_thread_create_on_xstream(other, &AbtCall::run, &call, ABT_THREAD_ATTR_NULL, &thread)));
  EXPECT_TRUE(abt_ok(ABT_thread_join(thread)));
  EXPECT_EQ(rank, 1);
  ABT_xstream last;
  EXPECT_TRUE(abt_ok(ABT_thread_get_last_xstream(thread, &last)));
  EXPECT_EQ(last, other.handle);
  EXPECT_TRUE(abt_ok(ABT_thread_free(&thread)));
}

TEST_F(AbtThread, Revive) {
  int first = 0, second = 0;
  AbtCall one([&] { ++first; });
  AbtCall two([&] {
    ABT_thread_yield();
    ++second;
  });
  ABT_thread thread = one.thread(main_pool());
  EXPECT_TRUE(abt_fails(ABT_ERR_INV_THREAD, ABT_thread_revive(main_pool(), nothing, nullptr, &thread)));
  EXPECT_TRUE(abt_ok(ABT_thread_join(thread)));
  const ABT_thread same = thread;
  EXPECT_TRUE(abt_ok(ABT_thread_revive(main_pool(), &AbtCall::run, &two, &thread)));
  EXPECT_EQ(thread, same);
  EXPECT_EQ(state_of(thread), ABT_THREAD_STATE_READY);
  ABT_xstream last = nullptr;
  EXPECT_TRUE(abt_ok(ABT_thread_get_last_xstream(thread, &last)));
  EXPECT_EQ(last, ABT_XSTREAM_NULL);
  void* arg;
  EXPECT_TRUE(abt_ok(ABT_thread_get_arg(thread, &arg)));
  EXPECT_EQ(arg, &two);
  EXPECT_TRUE(abt_ok(ABT_thread_free(&thread)));
  EXPECT_EQ(first, 1);
  EXPECT_EQ(second, 1);
}

TEST_F(AbtThread, RunAtOnce) {
  std::vector<int> order;
  ABT_thread made = ABT_THREAD_NULL;
  AbtCall child([&] {
    ABT_thread self;
    EXPECT_TRUE(abt_ok(ABT_self_get_thread(&self)));
    EXPECT_EQ(self, made);  // written before it runs
    order.push_back(2);
  });
  const auto body = [&] {
    order.push_back(1);
    EXPECT_TRUE(abt_ok(ABT_thread_create_to(main_pool(), &AbtCall::run, &child, ABT_THREAD_ATTR_NULL, &made)));
    order.push_back(3);
    EXPECT_TRUE(abt_ok(ABT_thread_join(made)));
    EXPECT_TRUE(abt_ok(ABT_thread_revive_to(main_pool(), &AbtCall::run, &child, &made)));
    order.push_back(4);
    EXPECT_TRUE(abt_ok(ABT_thread_free(&made)));
  };
  body();
  in_abt_ult(body);
  EXPECT_EQ(order, (std::vector<int>{1, 2, 3, 2, 4, 1, 2, 3, 2, 4}));
  ABT_thread thread;
  const ABT_pool pool = main_pool();
  on_external([&] {
    EXPECT_TRUE(abt_fails(ABT_ERR_INV_XSTREAM,
                          ABT_thread_create_to(pool, nothing, nullptr, ABT_THREAD_ATTR_NULL, &thread)));
  });
  in_abt_task([&] {
    EXPECT_TRUE(abt_fails(ABT_ERR_INV_THREAD,
                          ABT_thread_create_to(pool, nothing, nullptr, ABT_THREAD_ATTR_NULL, &thread)));
  });
}

TEST_F(AbtThread, Exit) {
  int before = 0, after = 0;
  for (auto* exit : {ABT_thread_exit, ABT_self_exit}) {
    in_abt_ult([&] {
      ++before;
      static_cast<void>(exit());
      ++after;
    });
    EXPECT_TRUE(abt_fails(ABT_ERR_INV_THREAD, exit()));
    in_abt_task([&] { EXPECT_TRUE(abt_fails(ABT_ERR_INV_THREAD, exit())); });
    on_external([&] { EXPECT_TRUE(abt_fails(ABT_ERR_INV_XSTREAM, exit())); });
  }
  EXPECT_EQ(before, 2);
  EXPECT_EQ(after, 0);
}

TEST_F(AbtThread, Cancel) {
  int started = 0, ended = 0;
  AbtCall call([&] {
    ++started;
    ABT_thread_yield();
    ++ended;
  });
  ABT_thread fresh = call.thread(main_pool());
  EXPECT_TRUE(abt_ok(ABT_thread_cancel(fresh)));
  EXPECT_TRUE(abt_ok(ABT_thread_free(&fresh)));
  EXPECT_EQ(started, 0);
  ABT_thread running = call.thread(main_pool());
  ABT_thread_yield();
  EXPECT_EQ(started, 1);
  EXPECT_TRUE(abt_ok(ABT_thread_cancel(running)));
  EXPECT_TRUE(abt_ok(ABT_thread_join(running)));
  EXPECT_EQ(ended, 0);
  EXPECT_TRUE(abt_ok(ABT_thread_revive(main_pool(), &AbtCall::run, &call, &running)));  // it is forgotten
  EXPECT_TRUE(abt_ok(ABT_thread_free(&running)));
  EXPECT_EQ(ended, 1);
}

// One that is suspended stays so until it is resumed, and then ends.
TEST_F(AbtThread, CancelOfASuspendedOneWaitsForItsResumption) {
  int after = 0;
  AbtCall call([&] {
    EXPECT_TRUE(abt_ok(ABT_self_suspend()));
    ++after;
  });
  ABT_thread thread = call.thread(main_pool());
  ABT_thread_yield();
  EXPECT_TRUE(abt_ok(ABT_thread_cancel(thread)));
  for (int i = 0; i < 3; ++i) ABT_thread_yield();
  EXPECT_EQ(state_of(thread), ABT_THREAD_STATE_BLOCKED);
  EXPECT_TRUE(abt_ok(ABT_thread_resume(thread)));
  EXPECT_TRUE(abt_ok(ABT_thread_free(&thread)));
  EXPECT_EQ(after, 0);
}

TEST_F(AbtThread, SuspendAndResume) {
  const AnXstream other;
  for (const ABT_pool pool : {main_pool(), other.pool()}) {
    int steps = 0;
    AbtCall call([&] {
      ++steps;
      EXPECT_TRUE(abt_ok(ABT_self_suspend()));
      ++steps;
    });
    ABT_thread thread = call.thread(pool);
    if (pool == main_pool()) {
      EXPECT_TRUE(abt_fails(ABT_ERR_THREAD, ABT_thread_resume(thread)));
    }
    EXPECT_TRUE(abt_wait_until([&] { return state_of(thread) == ABT_THREAD_STATE_BLOCKED; }));
    EXPECT_EQ(steps, 1);
    on_external([&] { EXPECT_TRUE(abt_ok(ABT_thread_resume(thread))); });
    EXPECT_TRUE(abt_ok(ABT_thread_join(thread)));
    EXPECT_TRUE(abt_fails(ABT_ERR_THREAD, ABT_thread_resume(thread)));
    EXPECT_EQ(steps, 2);
    EXPECT_TRUE(abt_ok(ABT_thread_free(&thread)));
  }
  in_abt_task([] { EXPECT_TRUE(abt_fails(ABT_ERR_INV_THREAD, ABT_self_suspend())); });
  on_external([] { EXPECT_TRUE(abt_fails(ABT_ERR_INV_XSTREAM, ABT_self_suspend())); });
}

TEST_F(AbtThread, Yield) {
  std::vector<int> order;
  AbtCall one([&] {
    order.push_back(1);
    EXPECT_TRUE(abt_ok(ABT_thread_yield()));
    order.push_back(3);
    EXPECT_TRUE(abt_ok(ABT_self_yield()));
    order.push_back(5);
  });
  AbtCall two([&] {
    order.push_back(2);
    EXPECT_TRUE(abt_ok(ABT_self_yield()));
    order.push_back(4);
  });
  ABT_thread threads[] = {one.thread(main_pool()), two.thread(main_pool())};
  for (int i = 0; i < 3; ++i) ABT_thread_yield();
  for (ABT_thread& thread : threads) EXPECT_TRUE(abt_ok(ABT_thread_free(&thread)));
  EXPECT_EQ(order, (std::vector<int>{1, 2, 3, 4, 5}));
  in_abt_task([] {
    if (!kAbt20) {
      EXPECT_TRUE(abt_ok(ABT_thread_yield()));
    }
    EXPECT_TRUE(abt_fails(ABT_ERR_INV_THREAD, ABT_self_yield()));
  });
  on_external([] {
    if (!kAbt20) {
      EXPECT_TRUE(abt_ok(ABT_thread_yield()));
    }
    EXPECT_TRUE(abt_fails(ABT_ERR_INV_XSTREAM, ABT_self_yield()));
  });
}

// The caller comes last, as in every yield.
TEST_F(AbtThread, YieldTo) {
  APool unserved;
  std::vector<int> order;
  ABT_thread threads[3];
  AbtCall first([&] {
    order.push_back(0);
    EXPECT_TRUE(abt_ok(ABT_thread_yield_to(threads[2])));
    order.push_back(3);
  });
  AbtCall second([&] { order.push_back(1); });
  AbtCall third([&] { order.push_back(2); });
  threads[0] = first.thread(main_pool());
  threads[1] = second.thread(main_pool());
  threads[2] = third.thread(main_pool());
  ABT_thread_yield();
  ABT_thread_yield();
  EXPECT_EQ(order, (std::vector<int>{0, 2, 1, 3}));
  for (ABT_thread& thread : threads) {
    if (thread != threads[2]) {
      EXPECT_TRUE(abt_ok(ABT_thread_free(&thread)));
    }
  }
  EXPECT_TRUE(abt_ok(ABT_thread_yield_to(threads[2])));  // has terminated: nothing is said
  ABT_thread self;
  EXPECT_TRUE(abt_ok(ABT_self_get_thread(&self)));
  EXPECT_TRUE(abt_fails(ABT_ERR_INV_THREAD, ABT_thread_yield_to(self)));
  EXPECT_TRUE(abt_ok(ABT_thread_free(&threads[2])));
  on_external([&] { EXPECT_TRUE(abt_ok(ABT_thread_yield_to(self))); });
}

TEST_F(AbtThread, YieldToASuspendedOneAndBack) {
  std::vector<int> order;
  AbtCall waits([&] {
    order.push_back(1);
    EXPECT_TRUE(abt_ok(ABT_self_suspend()));
    order.push_back(3);
  });
  ABT_thread thread = waits.thread(main_pool());
  ABT_thread_yield();
  order.push_back(2);
  EXPECT_TRUE(abt_fails(ABT_ERR_INV_THREAD, ABT_self_yield_to(thread)));
  EXPECT_TRUE(abt_ok(ABT_self_resume_yield_to(thread)));
  order.push_back(4);
  EXPECT_EQ(order, (std::vector<int>{1, 2, 3, 4}));
  EXPECT_TRUE(abt_fails(ABT_ERR_INV_THREAD, ABT_self_resume_yield_to(thread)));
  EXPECT_TRUE(abt_ok(ABT_thread_free(&thread)));
}

// Popped by the caller, and run in its place.
TEST_F(AbtThread, SwitchToAPoppedOne) {
  APool pool;
  for (const bool nested : {false, true}) {
    std::vector<int> order;
    AbtCall child([&] { order.push_back(2); });
    ABT_thread me = ABT_THREAD_NULL;
    ABT_thread children[3];
    ABT_thread popped;
    for (ABT_thread& thread : children) thread = child.thread(pool);
    AbtCall parent([&] {
      EXPECT_TRUE(abt_ok(ABT_self_get_thread(&me)));
      order.push_back(1);
      EXPECT_TRUE(abt_ok(ABT_pool_pop_thread(pool, &popped)));
      EXPECT_TRUE(abt_ok(ABT_self_yield_to(popped)));
      order.push_back(3);
      EXPECT_TRUE(abt_ok(ABT_pool_pop_thread(pool, &popped)));
      EXPECT_TRUE(abt_ok(ABT_self_suspend_to(popped)));
      order.push_back(4);
      EXPECT_TRUE(abt_ok(ABT_pool_pop_thread(pool, &popped)));
      static_cast<void>(ABT_self_exit_to(popped));
      order.push_back(99);
    });
    ABT_thread thread = parent.thread(main_pool());
    if (nested) {
      // Under a ULT that runs others itself.
      in_abt_ult([&] {
        while (state_of(thread) != ABT_THREAD_STATE_TERMINATED) {
          ABT_thread next;
          EXPECT_TRUE(abt_ok(ABT_pool_pop_thread(main_pool(), &next)));
          if (next != ABT_THREAD_NULL) {
            EXPECT_TRUE(abt_ok(ABT_self_schedule(next, ABT_POOL_NULL)));
          }
          if (state_of(thread) == ABT_THREAD_STATE_BLOCKED) {
            EXPECT_TRUE(abt_ok(ABT_thread_resume(thread)));
          }
        }
      });
    } else {
      EXPECT_TRUE(abt_wait_until([&] { return state_of(thread) == ABT_THREAD_STATE_BLOCKED; }));
      EXPECT_TRUE(abt_ok(ABT_thread_resume(thread)));
    }
    EXPECT_TRUE(abt_ok(ABT_thread_free(&thread)));
    for (ABT_thread& each : children) EXPECT_TRUE(abt_ok(ABT_thread_free(&each)));
    EXPECT_EQ(order, (std::vector<int>{1, 2, 3, 2, 4, 2}));
  }
}

TEST_F(AbtThread, SuspendAndEndForASuspendedOne) {
  std::vector<int> order;
  ABT_thread one, two;
  AbtCall first([&] {
    EXPECT_TRUE(abt_ok(ABT_self_suspend()));
    order.push_back(2);
    EXPECT_TRUE(abt_ok(ABT_self_resume_suspend_to(two)));
    order.push_back(5);
  });
  AbtCall second([&] {
    order.push_back(1);
    EXPECT_TRUE(abt_ok(ABT_self_resume_suspend_to(one)));
    order.push_back(3);
    static_cast<void>(ABT_self_resume_exit_to(one));
    order.push_back(99);
  });
  one = first.thread(main_pool());
  two = second.thread(main_pool());
  ABT_thread_yield();
  EXPECT_TRUE(abt_ok(ABT_thread_free(&two)));
  EXPECT_TRUE(abt_ok(ABT_thread_free(&one)));
  EXPECT_EQ(order, (std::vector<int>{1, 2, 3, 5}));
}

// On its joiner's stack one cannot end without the joiner going on: what it names runs first all the same.
TEST_F(AbtThread, EndsForAnotherOneWhileItIsJoined) {
  APool pool;
  std::vector<int> order;
  AbtCall other([&] { order.push_back(2); });
  ABT_thread target = other.thread(pool);
  AbtCall child([&] {
    order.push_back(1);
    ABT_thread popped;
    EXPECT_TRUE(abt_ok(ABT_pool_pop_thread(pool, &popped)));
    static_cast<void>(ABT_self_exit_to(popped));
  });
  ABT_thread thread = child.thread(main_pool());
  EXPECT_TRUE(abt_ok(ABT_thread_free(&thread)));
  order.push_back(3);
  EXPECT_TRUE(abt_ok(ABT_thread_free(&target)));
  EXPECT_EQ(order, (std::vector<int>{1, 2, 3}));
}

TEST_F(AbtThread, WhoMayNotSwitch) {
  AbtCall call([] {});
  ABT_thread thread = call.thread(main_pool());
  ABT_thread popped;
  EXPECT_TRUE(abt_ok(ABT_pool_pop_thread(main_pool(), &popped)));
  ABT_thread self;
  EXPECT_TRUE(abt_ok(ABT_self_get_thread(&self)));
  using Switch = int (*)(ABT_thread);
  for (const Switch to : {ABT_self_yield_to, ABT_self_suspend_to, ABT_self_exit_to, ABT_self_resume_yield_to,
                          ABT_self_resume_suspend_to, ABT_self_resume_exit_to}) {
    EXPECT_TRUE(abt_fails(ABT_ERR_INV_THREAD, to(ABT_THREAD_NULL)));
    EXPECT_TRUE(abt_fails(ABT_ERR_INV_THREAD, to(self)));
    in_abt_task([&] { EXPECT_TRUE(abt_fails(ABT_ERR_INV_THREAD, to(popped))); });
    on_external([&] { EXPECT_TRUE(abt_fails(ABT_ERR_INV_XSTREAM, to(popped))); });
  }
  EXPECT_TRUE(abt_fails(ABT_ERR_INV_THREAD, ABT_self_exit_to(popped)));  // the primary ULT does not end
  EXPECT_TRUE(abt_ok(ABT_pool_push_thread(main_pool(), popped)));
  EXPECT_TRUE(abt_ok(ABT_thread_free(&thread)));
}

TEST_F(AbtThread, RunsAnotherAsAScheduler) {
  APool pool;
  std::vector<int> order;
  AbtCall child([&] {
    order.push_back(1);
    ABT_thread_yield();
    order.push_back(3);
    EXPECT_TRUE(abt_ok(ABT_self_suspend()));
    order.push_back(5);
  });
  ABT_thread thread = child.thread(pool);
  const auto step = [&] {
    ABT_unit unit;
    EXPECT_TRUE(abt_ok(ABT_pool_pop(pool, &unit)));
    EXPECT_TRUE(abt_ok(ABT_xstream_run_unit(unit, pool)));
  };
  step();
  order.push_back(2);
  step();
  order.push_back(4);
  EXPECT_TRUE(abt_ok(ABT_thread_resume(thread)));
  step();
  EXPECT_EQ(order, (std::vector<int>{1, 2, 3, 4, 5}));
  EXPECT_TRUE(abt_ok(ABT_thread_free(&thread)));
  ABT_thread self;
  EXPECT_TRUE(abt_ok(ABT_self_get_thread(&self)));
  EXPECT_TRUE(abt_fails(ABT_ERR_INV_THREAD, ABT_self_schedule(ABT_THREAD_NULL, pool)));
  EXPECT_TRUE(abt_fails(ABT_ERR_INV_UNIT, ABT_xstream_run_unit(ABT_UNIT_NULL, pool)));
  in_abt_task([&] { EXPECT_TRUE(abt_fails(ABT_ERR_INV_THREAD, ABT_self_schedule(self, pool))); });
  on_external([&] { EXPECT_TRUE(abt_fails(ABT_ERR_INV_XSTREAM, ABT_self_schedule(self, pool))); });
}

// It becomes one of the pool that it is run in the name of.
TEST_F(AbtThread, IsRunAsOneOfAnotherPool) {
  APool first, second;
  int steps = 0;
  AbtCall child([&] {
    for (; steps < 3; ++steps) ABT_thread_yield();
  });
  ABT_thread thread = child.thread(first);
  const auto pop = [](ABT_pool pool) {
    ABT_unit unit = ABT_UNIT_NULL;
    EXPECT_TRUE(abt_ok(ABT_pool_pop(pool, &unit)));
    return unit;
  };
  EXPECT_TRUE(abt_ok(ABT_xstream_run_unit(pop(first), second)));
  EXPECT_EQ(pop(first), ABT_UNIT_NULL);
  EXPECT_TRUE(abt_ok(ABT_xstream_run_unit(pop(second), second)));
  EXPECT_EQ(steps, 1);
  ABT_thread popped = ABT_THREAD_NULL;
  EXPECT_TRUE(abt_ok(ABT_pool_pop_thread(second, &popped)));
  EXPECT_EQ(popped, thread);
  EXPECT_TRUE(abt_ok(ABT_self_schedule(popped, first)));
  EXPECT_EQ(pop(second), ABT_UNIT_NULL);
  EXPECT_TRUE(abt_ok(ABT_xstream_run_unit(pop(first), first)));
  EXPECT_EQ(steps, 3);
  EXPECT_EQ(pop(first), ABT_UNIT_NULL);
  EXPECT_TRUE(abt_ok(ABT_thread_free(&thread)));
}

TEST_F(AbtThread, ArgumentAndFunctionLiveAsLongAsTheUnit) {
  static void* seen;
  const auto function = [](void* arg) { seen = arg; };
  int one, two, three;
  ABT_thread thread;
  EXPECT_TRUE(abt_ok(ABT_thread_create(main_pool(), function, &one, ABT_THREAD_ATTR_NULL, &thread)));
  void* arg;
  void (*is)(void*);
  EXPECT_TRUE(abt_ok(ABT_thread_get_arg(thread, &arg)));
  EXPECT_EQ(arg, &one);
  EXPECT_TRUE(abt_ok(ABT_thread_set_arg(thread, &two)));  // before it starts it counts
  EXPECT_TRUE(abt_ok(ABT_thread_join(thread)));
  EXPECT_EQ(seen, &two);
  EXPECT_TRUE(abt_ok(ABT_thread_get_arg(thread, &arg)));
  EXPECT_EQ(arg, &two);
  EXPECT_TRUE(abt_ok(ABT_thread_get_thread_func(thread, &is)));
  EXPECT_EQ(is, +function);
  EXPECT_TRUE(abt_ok(ABT_thread_set_arg(thread, &three)));
  EXPECT_TRUE(abt_ok(ABT_thread_get_arg(thread, &arg)));
  EXPECT_EQ(arg, &three);
  EXPECT_TRUE(abt_ok(ABT_thread_free(&thread)));
}

TEST_F(AbtThread, IdsAndEquality) {
  AbtCall call([] {});
  ABT_thread a = call.thread(main_pool()), b = call.thread(main_pool());
  ABT_unit_id id_a, id_b, again;
  EXPECT_TRUE(abt_ok(ABT_thread_get_id(a, &id_a)));
  EXPECT_TRUE(abt_ok(ABT_thread_get_id(b, &id_b)));
  EXPECT_NE(id_a, id_b);
  EXPECT_TRUE(abt_ok(ABT_thread_get_id(a, &again)));
  EXPECT_EQ(again, id_a);
  ABT_bool equal = ABT_TRUE;
  EXPECT_TRUE(abt_ok(ABT_thread_equal(a, b, &equal)));
  EXPECT_EQ(equal, ABT_FALSE);
  EXPECT_TRUE(abt_ok(ABT_thread_equal(a, a, &equal)));
  EXPECT_EQ(equal, ABT_TRUE);
  EXPECT_TRUE(abt_ok(ABT_thread_equal(ABT_THREAD_NULL, ABT_TASK_NULL, &equal)));
  EXPECT_EQ(equal, ABT_TRUE);
  EXPECT_TRUE(abt_ok(ABT_thread_free(&a)));
  EXPECT_TRUE(abt_ok(ABT_thread_free(&b)));
}

TEST_F(AbtThread, ThePrimaryOne) {
  ABT_thread self;
  EXPECT_TRUE(abt_ok(ABT_thread_self(&self)));
  ABT_bool flag = ABT_FALSE;
  EXPECT_TRUE(abt_ok(ABT_thread_is_primary(self, &flag)));
  EXPECT_EQ(flag, ABT_TRUE);
  EXPECT_TRUE(abt_ok(ABT_thread_is_unnamed(self, &flag)));
  EXPECT_EQ(flag, ABT_TRUE);
  EXPECT_TRUE(abt_fails(kAbt20 ? ABT_ERR_INV_THREAD : ABT_SUCCESS, ABT_thread_set_migratable(self, ABT_TRUE)));
  EXPECT_TRUE(abt_ok(ABT_thread_is_migratable(self, &flag)));
  EXPECT_EQ(flag, ABT_FALSE);
  EXPECT_EQ(state_of(self), ABT_THREAD_STATE_RUNNING);
  size_t size = 1;
  void* stack = &size;
  EXPECT_TRUE(abt_ok(ABT_thread_get_stack(self, &stack, &size)));
  EXPECT_EQ(size, 0u);
  EXPECT_EQ(stack, nullptr);
  void (*function)(void*) = nothing;
  EXPECT_TRUE(abt_ok(ABT_thread_get_thread_func(self, &function)));
  EXPECT_EQ(function, nullptr);
  ABT_xstream last, mine;
  EXPECT_TRUE(abt_ok(ABT_thread_get_last_xstream(self, &last)));
  EXPECT_TRUE(abt_ok(ABT_self_get_xstream(&mine)));
  EXPECT_EQ(last, mine);
  ABT_thread_attr attr;
  EXPECT_TRUE(abt_ok(ABT_thread_get_attr(self, &attr)));
  EXPECT_TRUE(abt_ok(ABT_thread_attr_get_stacksize(attr, &size)));
  EXPECT_EQ(size, 0u);
  EXPECT_TRUE(abt_ok(ABT_thread_attr_free(&attr)));
}

}  // namespace
