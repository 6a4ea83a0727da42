// What changes who runs: yield, yield_to, suspend, resume, exit, cancel, migrate.
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "support/runtime_fixture.hpp"

namespace {

using namespace weft_test;

class ApiSwitch : public WorkersTest {};
INSTANTIATE_TEST_SUITE_P(Workers, ApiSwitch, kWorkerCounts);
class ApiSwitchOneWorker : public OneWorkerTest {};

// ---- yield

TEST_P(ApiSwitch, YieldLetsOthersRun) {
  std::atomic<int> turn = 0;
  Call even([&] {
    for (int i = 0; i < 200; i += 2) {
      while (turn != i) {
        weft_yield();
      }
      ++turn;
    }
  });
  Call odd([&] {
    for (int i = 1; i < 200; i += 2) {
      while (turn != i) {
        weft_yield();
      }
      ++turn;
    }
  });
  weft_unit_t a = even.ult();
  weft_unit_t b = odd.ult();
  EXPECT_TRUE(ok(weft_free(&a)));
  EXPECT_TRUE(ok(weft_free(&b)));
  EXPECT_EQ(turn, 200);
}

TEST_F(ApiSwitchOneWorker, YieldOfThePrimaryUltRunsWhatIsReady) {
  int ran = 0;
  Call call([&] { ++ran; });
  weft_unit_t a = call.ult();
  weft_unit_t b = call.tasklet();
  EXPECT_EQ(ran, 0);
  EXPECT_TRUE(wait_until([&] { return ran == 2; }));
  EXPECT_TRUE(ok(weft_free(&a)));
  EXPECT_TRUE(ok(weft_free(&b)));
}

TEST_F(ApiSwitchOneWorker, YieldInATaskletDoesNothing) {
  bool other_ran = false;
  Call other([&] { other_ran = true; });
  weft_unit_t waiting = nullptr;
  Call tasklet([&] {
    waiting = other.ult();
    weft_yield();
    EXPECT_FALSE(other_ran);
  });
  weft_unit_t t = tasklet.tasklet();
  EXPECT_TRUE(ok(weft_free(&t)));
  EXPECT_TRUE(ok(weft_free(&waiting)));
  EXPECT_TRUE(other_ran);
}

TEST_P(ApiSwitch, YieldOnAKernelThreadReturns) {
  on_klt([] { weft_yield(); });
}

// ---- yield_to

TEST_F(ApiSwitchOneWorker, YieldToRunsTheUnitAtOnce) {
  std::string log;
  Call a_call([&] { log += 'a'; });
  Call b_call([&] {
    log += 'b';
    weft_yield();
    log += 'B';
  });
  in_ult([&] {
    weft_unit_t a = a_call.ult();
    weft_unit_t b = b_call.ult();
    EXPECT_TRUE(ok(weft_yield_to(b)));  // fresh, behind a in the pool
    EXPECT_EQ(log[0], 'b');
    while (weft_unit_state(b) != WEFT_UNIT_TERMINATED) {
      weft_yield();
    }
    EXPECT_TRUE(ok(weft_free(&a)));
    EXPECT_TRUE(ok(weft_free(&b)));
  });
  EXPECT_EQ(log.size(), 3u);
}

TEST_F(ApiSwitchOneWorker, TwoUnitsPassTheWorkerToEachOther) {
  weft_unit_t units[2] = {};
  std::string log;
  int running = 2;
  auto body = [&](int me) {
    return [&, me] {
      for (int i = 0; i < 50; ++i) {
        log += static_cast<char>('0' + me);
        const bool both = running == 2;
        const int error = weft_yield_to(units[1 - me]);
        if (both) {
          EXPECT_TRUE(ok(error));
        } else {
          EXPECT_TRUE(fails(WEFT_ERR_STATE, error));  // the other has ended
        }
      }
      --running;
    };
  };
  Call zero(body(0));
  Call one(body(1));
  units[0] = zero.ult();
  units[1] = one.ult();
  weft_unit_t a = units[0];
  weft_unit_t b = units[1];
  EXPECT_TRUE(wait_until([&] { return running == 0; }));
  EXPECT_EQ(log.size(), 100u);
  for (size_t i = 0; i + 2 < 98; ++i) {
    ASSERT_NE(log[i], log[i + 1]) << i;
  }
  EXPECT_TRUE(ok(weft_free(&a)));
  EXPECT_TRUE(ok(weft_free(&b)));
}

TEST_P(ApiSwitch, YieldToAUnitInACreatedPoolOfThisWorker) {
  for (const weft_pool_kind_t kind : {WEFT_POOL_FIFO, WEFT_POOL_LIFO, WEFT_POOL_PRIORITY}) {
    SideWorker side(WEFT_SCHED_BASIC, kind);
    const weft_unit_attr_t attr = side.attr();
    std::string log;
    Call a_call([&] { log += 'a'; });
    Call b_call([&] { log += 'b'; });
    Call main_call([&] {
      weft_unit_t a1 = a_call.ult(&attr);
      weft_unit_t b = b_call.ult(&attr);
      weft_unit_t a2 = a_call.ult(&attr);
      EXPECT_TRUE(ok(weft_yield_to(b)));
      EXPECT_EQ(log[0], 'b');
      EXPECT_TRUE(ok(weft_free(&a1)));
      EXPECT_TRUE(ok(weft_free(&a2)));
      EXPECT_TRUE(ok(weft_free(&b)));
    });
    weft_unit_t unit = main_call.ult(&attr);
    EXPECT_TRUE(ok(weft_free(&unit)));
    EXPECT_EQ(log.size(), 3u);
  }
}

TEST_P(ApiSwitch, YieldToWhatCannotRun) {
  Call blocked_call([] { EXPECT_TRUE(ok(weft_suspend())); });
  weft_unit_t blocked = blocked_call.ult();
  Call ended_call([] {});
  weft_unit_t ended = ended_call.ult();
  EXPECT_TRUE(ok(weft_join(ended)));
  ASSERT_TRUE(wait_until([&] { return weft_unit_state(blocked) == WEFT_UNIT_BLOCKED; }));
  in_ult([&] {
    EXPECT_TRUE(fails(WEFT_ERR_STATE, weft_yield_to(blocked)));
    EXPECT_TRUE(fails(WEFT_ERR_STATE, weft_yield_to(ended)));
    EXPECT_TRUE(fails(WEFT_ERR_SELF, weft_yield_to(weft_self())));
    EXPECT_TRUE(fails(WEFT_ERR_INVALID, weft_yield_to(nullptr)));
  });
  in_tasklet([&] { EXPECT_TRUE(fails(WEFT_ERR_CONTEXT, weft_yield_to(blocked))); });
  on_klt([&] { EXPECT_TRUE(fails(WEFT_ERR_CONTEXT, weft_yield_to(blocked))); });
  EXPECT_TRUE(ok(weft_resume(blocked)));
  EXPECT_TRUE(ok(weft_free(&blocked)));
  EXPECT_TRUE(ok(weft_free(&ended)));
}

// ---- the direct way: units that have yielded once switch without the scheduler

class DirectSwitch : public OneWorkerTest {
 protected:
  // Calls body(0) … body(n - 1), each in a ULT, and waits for them.
  void in_ults(int n, std::function<void(int)> body) {
    std::vector<std::unique_ptr<Call>> calls;
    std::vector<weft_unit_t> units;
    for (int i = 0; i < n; ++i) {
      calls.push_back(std::make_unique<Call>([=] { body(i); }));
      units.push_back(calls.back()->ult());
    }
    EXPECT_TRUE(ok(weft_free_many(units.size(), units.data())));
  }
};

TEST_F(DirectSwitch, YieldGoesRound) {
  constexpr int kUnits = 5;
  constexpr int kRounds = 1000;
  int turn = 0;
  in_ults(kUnits, [&](int i) {
    for (int round = 0; round < kRounds; ++round) {
      EXPECT_EQ(turn++ % kUnits, i);
      weft_yield();
    }
  });
  EXPECT_EQ(turn, kUnits * kRounds);
}

TEST_F(DirectSwitch, AFreshUnitGetsItsTurn) {
  int fresh_ran_at = 0;
  in_ults(2, [&](int i) {
    for (int n = 0; n < 100; ++n) weft_yield();
    if (i == 0) {
      Call fresh([&] { fresh_ran_at = 1; });
      weft_unit_t unit = fresh.ult();
      weft_yield();
      weft_yield();
      EXPECT_EQ(fresh_ran_at, 1);
      EXPECT_TRUE(ok(weft_free(&unit)));
    } else {
      for (int n = 0; n < 10; ++n) weft_yield();
    }
  });
}

TEST_F(DirectSwitch, YieldToTakesTheOthersPlace) {
  // All five have yielded. 0 names 3, which is then where 0 was: 1, 2, 0, 4 are left in the ring.
  weft_unit_t units[5];
  std::vector<int> order;
  in_ults(5, [&](int i) {
    units[i] = weft_self();
    weft_yield();
    weft_yield();
    if (i == 0) {
      order.push_back(0);
      EXPECT_TRUE(ok(weft_yield_to(units[3])));
    }
    order.push_back(i);
    weft_yield();
  });
  EXPECT_EQ(order, (std::vector<int>{0, 3, 1, 2, 0, 4}));
}

TEST_F(DirectSwitch, ExceptionsInFlightStayWithTheirUlt) {
  in_ults(4, [&](int i) {
    for (int n = 0; n < 10; ++n) weft_yield();
    try {
      throw i;
    } catch (int) {
      for (int n = 0; n < 100; ++n) {
        weft_yield();
        try {
          std::rethrow_exception(std::current_exception());
        } catch (int got) {
          EXPECT_EQ(got, i);
        }
      }
    }
    EXPECT_EQ(std::uncaught_exceptions(), 0);
  });
}

TEST_F(DirectSwitch, ACancelledUltEnds) {
  weft_unit_t victim = nullptr;
  bool went_on = false;
  in_ults(2, [&](int i) {
    for (int n = 0; n < 10; ++n) weft_yield();
    if (i == 0) {
      victim = weft_self();
      weft_yield();
      weft_yield();
      went_on = true;
    } else {
      EXPECT_TRUE(ok(weft_cancel(victim)));
      weft_yield();
    }
  });
  EXPECT_FALSE(went_on);
}

// Only one of the three moves. The others keep their worker busy: an idle one might take it back.
TEST_F(DirectSwitch, AUltThatMovedIsNotTakenAlong) {
  weft_worker_t other = nullptr;
  ASSERT_TRUE(ok(weft_worker_create(nullptr, &other)));
  bool moved = false;
  std::atomic<bool> over = false;
  in_ults(3, [&](int i) {
    for (int n = 0; n < 10; ++n) weft_yield();
    if (i == 1) {
      EXPECT_TRUE(ok(weft_migrate(weft_self(), weft_worker_pool(other))));
      moved = wait_until([&] { return weft_worker_self() == other; });
      over = true;
    }
    while (!over) weft_yield();
  });
  EXPECT_TRUE(moved);
  EXPECT_TRUE(ok(weft_worker_free(&other)));
}

TEST_F(DirectSwitch, AUltPutIntoAPoolOfItsOwnGoesBackThere) {
  weft_pool_t pool = nullptr;
  ASSERT_TRUE(ok(weft_pool_create(WEFT_POOL_FIFO, WEFT_ACCESS_MPMC, &pool)));
  const weft_pool_t pools[] = {weft_worker_pool(weft_worker_get(0)), pool};
  weft_sched_t sched = nullptr;
  ASSERT_TRUE(ok(weft_sched_create(WEFT_SCHED_BASIC, 2, pools, &sched)));
  weft_sched_t old = weft_worker_sched(weft_worker_get(0));
  ASSERT_TRUE(ok(weft_worker_set_sched(weft_worker_get(0), sched)));
  weft_unit_t moved = nullptr;
  in_ults(3, [&](int i) {
    for (int n = 0; n < 10; ++n) weft_yield();
    if (i == 0) {
      moved = weft_pool_pop(pools[0]);
      EXPECT_TRUE(ok(weft_pool_push(pool, moved)));
    }
    for (int n = 0; n < 70; ++n) {
      weft_yield();
      if (i == 0 && weft_unit_state(moved) == WEFT_UNIT_READY) {
        EXPECT_EQ(weft_pool_size(pool), 1u);
      }
    }
  });
  ASSERT_TRUE(ok(weft_worker_set_sched(weft_worker_get(0), old)));
  EXPECT_TRUE(ok(weft_sched_free(&sched)));
  EXPECT_TRUE(ok(weft_pool_free(&pool)));
}

// ---- suspend and resume

TEST_P(ApiSwitch, SuspendUntilResume) {
  std::atomic<int> step = 0;
  Call call([&] {
    step = 1;
    EXPECT_TRUE(ok(weft_suspend()));
    step = 2;
  });
  weft_unit_t unit = call.ult();
  ASSERT_TRUE(wait_until([&] { return weft_unit_state(unit) == WEFT_UNIT_BLOCKED; }));
  for (int i = 0; i < 50; ++i) {
    weft_yield();
  }
  EXPECT_EQ(step, 1);
  EXPECT_TRUE(ok(weft_resume(unit)));
  EXPECT_TRUE(ok(weft_join(unit)));
  EXPECT_EQ(step, 2);
  EXPECT_TRUE(fails(WEFT_ERR_STATE, weft_resume(unit)));
  EXPECT_TRUE(ok(weft_free(&unit)));
  EXPECT_TRUE(fails(WEFT_ERR_INVALID, weft_resume(nullptr)));
}

TEST_P(ApiSwitch, ResumeFromKernelThreadAndTasklet) {
  Call call([] {
    EXPECT_TRUE(ok(weft_suspend()));
    EXPECT_TRUE(ok(weft_suspend()));
  });
  weft_unit_t unit = call.ult();
  ASSERT_TRUE(wait_until([&] { return weft_unit_state(unit) == WEFT_UNIT_BLOCKED; }));
  on_klt([&] { EXPECT_TRUE(ok(weft_resume(unit))); });
  ASSERT_TRUE(wait_until([&] { return weft_unit_state(unit) == WEFT_UNIT_BLOCKED; }));
  in_tasklet([&] { EXPECT_TRUE(ok(weft_resume(unit))); });
  EXPECT_TRUE(ok(weft_free(&unit)));
}

TEST_P(ApiSwitch, AResumeThatComesFirstIsRememberedOnce) {
  std::atomic<int> step = 0;
  Call call([&] {
    EXPECT_TRUE(ok(weft_resume(weft_self())));
    EXPECT_TRUE(ok(weft_resume(weft_self())));
    EXPECT_TRUE(ok(weft_suspend()));  // at once
    step = 1;
    EXPECT_TRUE(ok(weft_suspend()));  // only one was remembered
    step = 2;
  });
  weft_unit_t unit = call.ult();
  ASSERT_TRUE(wait_until([&] { return weft_unit_state(unit) == WEFT_UNIT_BLOCKED; }));
  EXPECT_EQ(step, 1);
  EXPECT_TRUE(ok(weft_resume(unit)));
  EXPECT_TRUE(ok(weft_free(&unit)));
  EXPECT_EQ(step, 2);
}

TEST_P(ApiSwitch, SuspendTechniques) {
  for (const weft_technique_t technique :
       {WEFT_TECHNIQUE_AUTO, WEFT_TECHNIQUE_SC, WEFT_TECHNIQUE_SS_L, WEFT_TECHNIQUE_SS,
        WEFT_TECHNIQUE_JOINER}) {
    weft_unit_attr_t attr = default_attr();
    attr.technique = technique;
    std::vector<weft_unit_t> units;
    Call call([] { EXPECT_TRUE(ok(weft_suspend())); });
    for (int i = 0; i < 100; ++i) {
      units.push_back(call.ult(&attr));
    }
    for (weft_unit_t u : units) {
      ASSERT_TRUE(wait_until([&] { return weft_unit_state(u) == WEFT_UNIT_BLOCKED; }));
    }
    for (weft_unit_t u : units) {
      EXPECT_TRUE(ok(weft_resume(u)));
    }
    EXPECT_TRUE(ok(weft_free_many(units.size(), units.data())));
  }
}

TEST_P(ApiSwitch, ThePrimaryUltMaySuspend) {
  const weft_unit_t primary = weft_self();
  for (int i = 0; i < 100; ++i) {
    Call call([&] { EXPECT_TRUE(ok(weft_resume(primary))); });
    weft_unit_t unit = call.ult();
    EXPECT_TRUE(ok(weft_suspend()));
    EXPECT_TRUE(ok(weft_free(&unit)));
  }
  std::thread klt([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    EXPECT_TRUE(ok(weft_resume(primary)));
  });
  EXPECT_TRUE(ok(weft_suspend()));
  klt.join();
}

TEST_P(ApiSwitch, PingPongBySuspendLosesNothing) {
  constexpr int kRounds = 5000;
  weft_unit_t left = nullptr;
  weft_unit_t right = nullptr;
  std::atomic<int> ball = 0;
  auto player = [&](weft_unit_t& other, int mine) {
    return [&, mine] {
      for (int i = mine; i < kRounds; i += 2) {
        while (ball != i) {
          ASSERT_TRUE(ok(weft_suspend()));
        }
        ball = i + 1;
        const int error = weft_resume(other);
        ASSERT_TRUE(ok(error) || i + 1 == kRounds);  // after the last round it may have ended
      }
    };
  };
  Call left_call(player(right, 0));
  Call right_call(player(left, 1));
  std::atomic<bool> started = false;
  Call starter([&] {
    while (!started) {
      weft_yield();
    }
    right_call.run(&right_call);
  });
  right = starter.ult();
  Call left_starter([&] {
    while (!started) {
      weft_yield();
    }
    left_call.run(&left_call);
  });
  left = left_starter.ult();
  started = true;
  weft_unit_t l = left;
  weft_unit_t r = right;
  EXPECT_TRUE(ok(weft_join(l)));
  EXPECT_TRUE(ok(weft_join(r)));
  EXPECT_EQ(ball, kRounds);
  EXPECT_TRUE(ok(weft_free(&l)));
  EXPECT_TRUE(ok(weft_free(&r)));
}

TEST_P(ApiSwitch, SuspendWhereItIsNotAllowed) {
  in_tasklet([] { EXPECT_TRUE(fails(WEFT_ERR_CONTEXT, weft_suspend())); });
  on_klt([] { EXPECT_TRUE(fails(WEFT_ERR_CONTEXT, weft_suspend())); });
}

// ---- exit

void exit_deep(int depth, std::atomic<int>& step) {
  if (depth == 0) {
    weft_exit();
    step = 100;
    return;
  }
  exit_deep(depth - 1, step);
  step = 200;
}

TEST_P(ApiSwitch, ExitEndsTheUltFromTheMiddle) {
  for (const weft_technique_t technique :
       {WEFT_TECHNIQUE_AUTO, WEFT_TECHNIQUE_SC, WEFT_TECHNIQUE_SS, WEFT_TECHNIQUE_SS_L}) {
    for (const bool yield_first : {false, true}) {
      weft_unit_attr_t attr = default_attr();
      attr.technique = technique;
      for (int i = 0; i < 50; ++i) {
        std::atomic<int> step = 0;
        Call call([&] {
          if (yield_first) {
            weft_yield();
          }
          step = 1;
          exit_deep(5, step);
        });
        weft_unit_t unit = call.ult(&attr);
        EXPECT_TRUE(ok(weft_join(unit)));
        EXPECT_EQ(step, 1);
        EXPECT_EQ(weft_unit_state(unit), WEFT_UNIT_TERMINATED);
        EXPECT_TRUE(ok(weft_free(&unit)));
      }
    }
  }
}

TEST_P(ApiSwitch, ADetachedUltMayExit) {
  std::atomic<int> step = 0;
  Call call([&] {
    ++step;
    weft_exit();
    step = 1000;
  });
  for (int i = 0; i < 100; ++i) {
    ASSERT_TRUE(ok(weft_ult_create(&Call::run, &call, nullptr, nullptr)));
  }
  EXPECT_TRUE(wait_until([&] { return step == 100; }));
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
}

TEST_P(ApiSwitch, ExitWhereItIsNotAllowed) {
  EXPECT_TRUE(fails(WEFT_ERR_CONTEXT, weft_exit()));
  in_tasklet([] { EXPECT_TRUE(fails(WEFT_ERR_CONTEXT, weft_exit())); });
  on_klt([] { EXPECT_TRUE(fails(WEFT_ERR_CONTEXT, weft_exit())); });
}

// ---- cancel

TEST_F(ApiSwitchOneWorker, AFreshUnitThatIsCancelledNeverStarts) {
  bool ran = false;
  Call call([&] { ran = true; });
  for (int i = 0; i < 20; ++i) {
    weft_unit_t unit = i % 2 ? call.ult() : call.tasklet();
    EXPECT_TRUE(ok(weft_cancel(unit)));
    if (i % 3 == 0) {
      weft_yield();
    }
    EXPECT_TRUE(ok(weft_join(unit)));
    EXPECT_EQ(weft_unit_state(unit), WEFT_UNIT_TERMINATED);
    EXPECT_TRUE(ok(weft_free(&unit)));
  }
  EXPECT_FALSE(ran);
}

TEST_P(ApiSwitch, ACancelledUltEndsAtItsNextYield) {
  std::atomic<bool> running = false;
  Call call([&] {
    running = true;
    for (;;) {
      weft_yield();
    }
  });
  weft_unit_t unit = call.ult();
  ASSERT_TRUE(wait_until([&] { return running.load(); }));
  EXPECT_TRUE(ok(weft_cancel(unit)));
  EXPECT_TRUE(ok(weft_join(unit)));
  EXPECT_TRUE(ok(weft_free(&unit)));
}

TEST_P(ApiSwitch, ACancelledUltEndsAtACancelPoint) {
  int step = 0;
  Call call([&] {
    weft_cancel_point();  // not cancelled: goes on
    step = 1;
    EXPECT_TRUE(ok(weft_cancel(weft_self())));
    step = 2;
    weft_cancel_point();
    step = 3;
  });
  weft_unit_t unit = call.ult();
  EXPECT_TRUE(ok(weft_free(&unit)));
  EXPECT_EQ(step, 2);
}

TEST_P(ApiSwitch, ACancelledUltEndsAtItsNextSuspension) {
  int step = 0;
  Call call([&] {
    EXPECT_TRUE(ok(weft_cancel(weft_self())));
    step = 1;
    weft_suspend();
    step = 2;
  });
  weft_unit_t unit = call.ult();
  EXPECT_TRUE(ok(weft_free(&unit)));
  EXPECT_EQ(step, 1);
}

TEST_P(ApiSwitch, ACancelledUltThatIsSuspendedEndsWhenItIsResumed) {
  int step = 0;
  Call call([&] {
    step = 1;
    weft_suspend();
    step = 2;
    weft_cancel_point();
    step = 3;
  });
  weft_unit_t unit = call.ult();
  ASSERT_TRUE(wait_until([&] { return weft_unit_state(unit) == WEFT_UNIT_BLOCKED; }));
  EXPECT_TRUE(ok(weft_cancel(unit)));
  weft_resume(unit);  // STATE where the cancellation has ended it already
  EXPECT_TRUE(ok(weft_free(&unit)));
  EXPECT_LE(step, 2);
}

TEST_P(ApiSwitch, AUltThatIsCancelledButNeverAsksRunsToItsEnd) {
  bool ended = false;
  Call call([&] {
    EXPECT_TRUE(ok(weft_cancel(weft_self())));
    ended = true;
  });
  weft_unit_t unit = call.ult();
  EXPECT_TRUE(ok(weft_free(&unit)));
  EXPECT_TRUE(ended);
}

TEST_P(ApiSwitch, CancelRacesWithTheRun) {
  std::atomic<int> count = 0;
  Call call([&] {
    ++count;
    weft_yield();
    weft_yield();
  });
  for (int i = 0; i < 500; ++i) {
    weft_unit_t unit = call.ult();
    if (i % 2) {
      weft_yield();
    }
    EXPECT_TRUE(ok(weft_cancel(unit)));
    EXPECT_TRUE(ok(weft_free(&unit)));
  }
  EXPECT_LE(count, 500);
}

TEST_P(ApiSwitch, ThePrimaryUltCannotBeCancelled) {
  const weft_unit_t primary = weft_self();
  EXPECT_TRUE(fails(WEFT_ERR_CONTEXT, weft_cancel(primary)));
  in_ult([&] { EXPECT_TRUE(fails(WEFT_ERR_CONTEXT, weft_cancel(primary))); });
  EXPECT_TRUE(fails(WEFT_ERR_INVALID, weft_cancel(nullptr)));
  weft_cancel_point();
}

TEST_P(ApiSwitch, AUnitCancelledByItsJoinersSiblingFreesTheJoiner) {
  std::atomic<bool> running = false;
  Call victim_call([&] {
    running = true;
    for (;;) {
      weft_yield();
    }
  });
  weft_unit_t victim = victim_call.ult();
  Call joiner_call([&] { EXPECT_TRUE(ok(weft_join(victim))); });
  weft_unit_t joiner = joiner_call.ult();
  ASSERT_TRUE(wait_until([&] { return running.load(); }));
  EXPECT_TRUE(ok(weft_cancel(victim)));
  EXPECT_TRUE(ok(weft_free(&joiner)));
  EXPECT_TRUE(ok(weft_free(&victim)));
}

// ---- migrate

TEST_P(ApiSwitch, ASuspendedUltMovesWhenItIsResumed) {
  SideWorker side;
  weft_unit_attr_t attr = default_attr();
  attr.technique = WEFT_TECHNIQUE_SS;
  weft_worker_t before = nullptr;
  weft_worker_t after = nullptr;
  Call call([&] {
    before = weft_worker_self();
    EXPECT_TRUE(ok(weft_suspend()));
    after = weft_worker_self();
  });
  weft_unit_t unit = call.ult(&attr);
  ASSERT_TRUE(wait_until([&] { return weft_unit_state(unit) == WEFT_UNIT_BLOCKED; }));
  EXPECT_NE(before, side.worker);
  EXPECT_TRUE(ok(weft_migrate(unit, side.pool)));
  EXPECT_EQ(weft_unit_pool(unit), side.pool);
  EXPECT_TRUE(ok(weft_resume(unit)));
  EXPECT_TRUE(ok(weft_join(unit)));
  EXPECT_EQ(after, side.worker);
  EXPECT_TRUE(ok(weft_free(&unit)));
}

TEST_P(ApiSwitch, ARunningUltMovesAtItsNextYield) {
  SideWorker side;
  weft_unit_attr_t attr = default_attr();
  attr.technique = WEFT_TECHNIQUE_SS;
  in_ult(
      [&] {
        const weft_pool_t home = weft_unit_pool(weft_self());
        EXPECT_TRUE(ok(weft_migrate(weft_self(), side.pool)));
        weft_yield();
        EXPECT_EQ(weft_worker_self(), side.worker);
        EXPECT_TRUE(ok(weft_migrate(weft_self(), home)));
        weft_yield();
        EXPECT_NE(weft_worker_self(), side.worker);
      },
      &attr);
}

TEST_P(ApiSwitch, APinnedUnitDoesNotMigrate) {
  SideWorker side;
  weft_unit_attr_t attr = default_attr();
  attr.worker = weft_worker_get(0);
  attr.pinned = true;
  Call call([&] {
    EXPECT_TRUE(fails(WEFT_ERR_STATE, weft_migrate(weft_self(), side.pool)));
    weft_yield();
    EXPECT_EQ(weft_worker_self(), weft_worker_get(0));
  });
  weft_unit_t unit = call.ult(&attr);
  EXPECT_TRUE(fails(WEFT_ERR_STATE, weft_migrate(unit, side.pool)));
  EXPECT_TRUE(ok(weft_free(&unit)));
}

TEST_P(ApiSwitch, MigrateChecksItsArguments) {
  Call call([] {});
  weft_unit_t unit = call.ult();
  EXPECT_TRUE(fails(WEFT_ERR_INVALID, weft_migrate(unit, nullptr)));
  EXPECT_TRUE(fails(WEFT_ERR_INVALID, weft_migrate(nullptr, weft_worker_pool(weft_worker_get(0)))));
  EXPECT_TRUE(ok(weft_free(&unit)));
}

}  // namespace
