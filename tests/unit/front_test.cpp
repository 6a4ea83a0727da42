// front/: what front-ends ask of the core, without one.
#include "front/front.hpp"

#include <thread>
#include <vector>

#include "api/handles.hpp"
#include "support/runtime_fixture.hpp"

namespace {

using namespace weft_test;
namespace front = weft::front;
namespace rt = weft::rt;

weft_unit_t pop(weft_pool_t pool) {
  weft_unit_t unit = nullptr;
  EXPECT_TRUE(front::pool_pop(pool, &unit));
  return unit;
}

class Front : public OneWorkerTest {
 protected:
  weft_pool_t lane() const { return front::worker_lane(weft_worker_get(0)); }

  weft_unit_t make(Call& call, weft_pool_t pool, const front::UnitWish& wish = {}) {
    weft_unit_t unit = nullptr;
    EXPECT_TRUE(ok(front::unit_create(pool, &Call::run, &call, 0, wish, &unit)));
    return unit;
  }
};

TEST_F(Front, UnitsKeepTheirFunctionAndArgument) {
  int ran = 0;
  Call call([&] { ++ran; });
  weft_unit_t unit = make(call, lane());
  EXPECT_EQ(front::part(unit)->fn, &Call::run);
  EXPECT_EQ(front::part(unit)->arg, &call);
  EXPECT_TRUE(ok(weft_join(unit)));
  EXPECT_EQ(front::part(unit)->arg, &call);
  EXPECT_TRUE(ok(weft_free(&unit)));
  EXPECT_EQ(ran, 1);
}

// A descriptor is used again: nothing of the front-end's is left for a unit that has a name, and the other way round.
TEST_F(Front, DescriptorsAreUsedAgainByBoth) {
  Call call([] {});
  weft_unit_attr_t named = default_attr();
  named.name = "0123456789012345678901234567890";
  for (int i = 0; i < 20; ++i) {
    weft_unit_t theirs = nullptr;
    if (i % 2 == 0) {
      theirs = make(call, lane());
    } else {
      EXPECT_TRUE(ok(front::ult_create_here(lane(), &Call::run, &call, &theirs, nullptr)));
    }
    EXPECT_EQ(front::hooks(theirs), nullptr);
    EXPECT_STREQ(weft_unit_name(theirs), "");
    EXPECT_TRUE(ok(weft_free(&theirs)));
    weft_unit_t mine = call.ult(&named);
    EXPECT_STREQ(weft_unit_name(mine), named.name);
    EXPECT_TRUE(ok(weft_free(&mine)));
  }
}

// What is done in a few moves says where it has done nothing, and leaves no section of Weft's behind.
TEST_F(Front, WhatIsNotDoneHereIsDoneOtherwise) {
  constexpr int kOtherwise = 77;
  const auto no_yield = [] { return kOtherwise; };
  const auto of_unit = [](weft_unit_t) { return kOtherwise; };
  const auto of_handle = [](weft_unit_t*) { return kOtherwise; };
  const auto create = [](weft_pool_t, weft_fn, void*, weft_unit_t*) { return kOtherwise; };
  Call call([] {});
  weft_unit_t unit = make(call, lane());
  const auto nothing_here = [&] {
    weft_unit_t none = nullptr;
    EXPECT_EQ(front::yield(0, no_yield), kOtherwise);
    EXPECT_EQ(front::yield_to_directly(unit, of_unit), kOtherwise);
    EXPECT_EQ(front::join_here(unit, of_unit), kOtherwise);
    EXPECT_EQ(front::free_here(&unit, nullptr, of_handle), kOtherwise);
    if (weft_self() == nullptr) {
      EXPECT_EQ(front::ult_create_here(lane(), &Call::run, &call, &none, create), kOtherwise);
      EXPECT_EQ(front::tasklet_create_here(lane(), &Call::run, &call, &none, create), kOtherwise);
    }
    EXPECT_FALSE(front::interrupts_section());
    EXPECT_EQ(weft_unit_state(unit), WEFT_UNIT_FRESH);
  };
  in_tasklet(nothing_here);
  std::thread(nothing_here).join();  // while the unit cannot start
  in_ult([&] {
    EXPECT_EQ(front::yield_to_directly(unit, of_unit), kOtherwise);  // it has not started
    EXPECT_EQ(front::yield_to_directly(weft_self(), of_unit), kOtherwise);
    EXPECT_FALSE(front::interrupts_section());
  });
  weft_unit_t* const freed = &unit;
  EXPECT_TRUE(ok(front::free_here(freed, unit, of_handle)));
  EXPECT_NE(unit, nullptr);  // the value that was given
}

// They go back to their pool, whoever wakes them, and are not stolen.
TEST(FrontWorkers, UnitsStayWithTheirPool) {
  weft_options_t options{};
  options.workers = 3;
  ASSERT_TRUE(ok(weft_initialize(&options)));
  const weft_worker_t home = weft_worker_get(1);
  std::atomic<int> ran = 0;
  Call call([&] {
    for (int i = 0; i < 20; ++i) {
      EXPECT_EQ(weft_worker_self(), home);
      weft_sleep(1000);
      EXPECT_EQ(weft_worker_self(), home);
      weft_yield();
    }
    ++ran;
  });
  std::vector<weft_unit_t> units(50);
  for (weft_unit_t& unit : units) {
    EXPECT_TRUE(ok(front::unit_create(front::worker_lane(home), &Call::run, &call, 0, {}, &unit)));
  }
  for (weft_unit_t& unit : units) EXPECT_TRUE(ok(weft_free(&unit)));
  EXPECT_EQ(ran, 50);
  EXPECT_TRUE(ok(weft_finalize()));
}

struct Mover : front::FrontHooks {
  weft_pool_t to = nullptr;
  int moves = 0;
  std::atomic<int> drops = 0;
  Mover() {
    move = [](weft_unit_t unit, front::FrontHooks* hooks) {
      auto* self = static_cast<Mover*>(hooks);
      EXPECT_EQ(weft_self(), nullptr);
      front::set_home(unit, self->to);
      ++self->moves;
    };
    drop = [](weft_unit_t, front::FrontHooks* hooks) { ++static_cast<Mover*>(hooks)->drops; };
  }
};

TEST_F(Front, MovesAreCarriedOutWhereAUnitIsPickedOrYields) {
  SideWorker other;
  for (const bool tasklet : {false, true}) {
    Mover mover;
    mover.to = other.pool;
    weft_worker_t first = nullptr, last = nullptr;
    Call call([&] {
      first = weft_worker_self();
      weft_yield();
      last = weft_worker_self();
    });
    front::UnitWish wish;
    wish.tasklet = tasklet;
    wish.hooks = &mover;
    weft_unit_t unit = make(call, lane(), wish);
    front::request_move(unit);
    EXPECT_TRUE(ok(weft_join(unit)));
    EXPECT_EQ(first, other.worker);
    EXPECT_EQ(last, other.worker);
    EXPECT_EQ(mover.moves, 1);
    EXPECT_EQ(front::last_worker(unit), other.worker);
    EXPECT_TRUE(ok(weft_free(&unit)));
    EXPECT_EQ(mover.drops, 1);
  }
  Mover mover;
  mover.to = other.pool;
  front::UnitWish wish;
  wish.hooks = &mover;
  wish.detached = true;
  Call call([&] {
    front::request_move(weft_self());
    EXPECT_EQ(weft_worker_self(), weft_worker_get(0));
    weft_yield();
    EXPECT_EQ(weft_worker_self(), other.worker);
  });
  static_cast<void>(make(call, lane(), wish));
  EXPECT_TRUE(wait_until([&] { return mover.drops == 1; }));
}

TEST_F(Front, SwitchesToAChosenOne) {
  weft_pool_t parking;
  ASSERT_TRUE(ok(weft_pool_create(WEFT_POOL_FIFO, WEFT_ACCESS_MPMC, &parking)));
  std::vector<int> order;
  Call target([&] { order.push_back(2); });
  weft_unit_t targets[3];
  for (weft_unit_t& unit : targets) unit = make(target, parking);
  Call call([&] {
    order.push_back(1);
    front::switch_to(pop(parking), front::Leave::kYield, 0);
    order.push_back(3);
    front::switch_to(pop(parking), front::Leave::kSuspend, 0);
    order.push_back(4);
    front::switch_to(pop(parking), front::Leave::kExit, 0);
  });
  weft_unit_t unit = make(call, lane());
  EXPECT_TRUE(wait_until([&] { return weft_unit_state(unit) == WEFT_UNIT_BLOCKED; }));
  EXPECT_TRUE(ok(weft_resume(unit)));
  EXPECT_TRUE(ok(weft_free(&unit)));
  for (weft_unit_t& each : targets) EXPECT_TRUE(ok(weft_free(&each)));
  EXPECT_EQ(order, (std::vector<int>{1, 2, 3, 2, 4, 2}));
  EXPECT_TRUE(ok(weft_pool_free(&parking)));
}

// Any ULT may run others as a scheduler does, also one that has no stack of its own yet.
TEST_F(Front, AUltRunsOthers) {
  weft_pool_t parking;
  ASSERT_TRUE(ok(weft_pool_create(WEFT_POOL_FIFO, WEFT_ACCESS_MPMC, &parking)));
  std::vector<int> order;
  Call child([&] {
    order.push_back(2);
    weft_yield();
    order.push_back(4);
  });
  weft_unit_t unit = make(child, parking);
  in_ult([&] {
    order.push_back(1);
    EXPECT_TRUE(ok(front::run(pop(parking))));
    order.push_back(3);
    EXPECT_TRUE(ok(front::run(pop(parking))));
    order.push_back(5);
  });
  EXPECT_EQ(order, (std::vector<int>{1, 2, 3, 4, 5}));
  EXPECT_TRUE(ok(weft_free(&unit)));
  EXPECT_TRUE(ok(weft_pool_free(&parking)));
}

// Only of the pool that it belongs to, and by one of a front-end's on its worker: the others are referred elsewhere.
TEST_F(Front, AFrontEndsRunsOneOfAPool) {
  weft_pool_t parking, another;
  ASSERT_TRUE(ok(weft_pool_create(WEFT_POOL_FIFO, WEFT_ACCESS_MPMC, &parking)));
  ASSERT_TRUE(ok(weft_pool_create(WEFT_POOL_FIFO, WEFT_ACCESS_MPMC, &another)));
  constexpr int kElsewhere = 77;
  const auto elsewhere = [](weft_unit_t, weft_pool_t) { return kElsewhere; };
  int ran = 0;
  Call child([&] { ++ran; });
  weft_unit_t unit = make(child, parking);
  weft_unit_t popped = pop(parking);
  EXPECT_EQ(popped, unit);
  EXPECT_EQ(front::run_of_pool(popped, parking, elsewhere), kElsewhere);  // main is no front-end's
  Call runner([&] {
    EXPECT_EQ(front::run_of_pool(popped, parking, elsewhere), kElsewhere);  // nor is its worker
    front::worker_set_front(weft_worker_self(), this);
    EXPECT_EQ(front::run_of_pool(popped, another, elsewhere), kElsewhere);
    EXPECT_EQ(ran, 0);
    EXPECT_TRUE(ok(front::run_of_pool(popped, parking, elsewhere)));
    EXPECT_EQ(ran, 1);
    front::worker_set_front(weft_worker_self(), nullptr);
  });
  weft_unit_t ult = make(runner, lane());
  EXPECT_TRUE(ok(weft_free(&ult)));
  std::thread external([&] { EXPECT_EQ(front::run_of_pool(popped, parking, elsewhere), kElsewhere); });
  external.join();
  EXPECT_TRUE(ok(weft_free(&unit)));
  EXPECT_TRUE(ok(weft_pool_free(&parking)));
  EXPECT_TRUE(ok(weft_pool_free(&another)));
}

// A lane is made everybody's while its worker computes, sleeps, or does it itself.
TEST(FrontWorkers, ALaneIsShared) {
  weft_options_t options{};
  options.workers = 2;
  ASSERT_TRUE(ok(weft_initialize(&options)));
  const weft_pool_t own = front::worker_lane(weft_worker_get(0));
  const weft_pool_t other = front::worker_lane(weft_worker_get(1));
  Call call([] {});
  std::vector<weft_unit_t> units(20);
  for (weft_unit_t& unit : units) {
    EXPECT_TRUE(ok(front::unit_create(own, &Call::run, &call, 0, {}, &unit)));
  }
  std::vector<weft_unit_t> popped;
  std::thread thief([&] {  // this thread computes meanwhile
    while (weft_unit_t unit = pop(own)) popped.push_back(unit);
  });
  thief.join();
  EXPECT_EQ(popped, units);
  for (weft_unit_t& unit : units) {
    EXPECT_TRUE(ok(weft_pool_push(own, unit)));
    EXPECT_TRUE(ok(weft_free(&unit)));
  }
  front::pool_share(other);  // of one that sleeps, or is about to
  weft_unit_t unit;
  EXPECT_TRUE(ok(front::unit_create(other, &Call::run, &call, 0, {}, &unit)));
  EXPECT_TRUE(ok(weft_free(&unit)));
  in_ult([] { weft_yield(); });
  EXPECT_TRUE(ok(weft_finalize()));
}

// The size of a lane counts what is there, also behind units that were taken out of the middle.
TEST_F(Front, ALanesSizeIsExact) {
  Call call([] {});
  std::vector<weft_unit_t> units;
  for (int i = 0; i < 6; ++i) units.push_back(make(call, lane()));
  size_t left = units.size();
  for (const int i : {2, 4, 0, 5, 1, 3}) {
    EXPECT_TRUE(front::pool_remove(lane(), units[i]));
    EXPECT_FALSE(front::pool_remove(lane(), units[i]));
    EXPECT_EQ(weft_pool_size(lane()), --left);
  }
  for (weft_unit_t& unit : units) front::unit_discard(unit);
}

TEST_F(Front, APatientSchedulerWaitsForWhatIsBlocked) {
  weft_pool_t pool;
  ASSERT_TRUE(ok(weft_pool_create(WEFT_POOL_FIFO, WEFT_ACCESS_MPMC, &pool)));
  weft_sched_t sched;
  ASSERT_TRUE(ok(front::sched_create(WEFT_SCHED_BASIC, 1, &pool, &sched)));
  weft_worker_t worker;
  ASSERT_TRUE(ok(front::worker_create(sched, &pool, &worker)));
  ASSERT_TRUE(ok(front::worker_start(worker)));
  EXPECT_EQ(front::worker_front(worker), &pool);
  std::atomic<bool> done = false;
  Call call([&] {
    weft_suspend();
    done = true;
  });
  weft_unit_t unit = make(call, pool);
  EXPECT_TRUE(wait_until([&] { return weft_unit_state(unit) == WEFT_UNIT_BLOCKED; }));
  EXPECT_EQ(front::pool_blocked(pool), 1u);
  EXPECT_FALSE(front::sched_done(sched));
  EXPECT_TRUE(ok(weft_sched_finish(sched)));
  for (int i = 0; i < 5; ++i) weft_sleep(1'000'000);
  EXPECT_FALSE(front::worker_stopped(worker));
  EXPECT_TRUE(ok(weft_resume(unit)));
  EXPECT_TRUE(wait_until([&] { return front::worker_stopped(worker); }));
  EXPECT_TRUE(done);
  EXPECT_TRUE(ok(weft_free(&unit)));
  EXPECT_TRUE(ok(weft_worker_free(&worker)));
  EXPECT_TRUE(ok(weft_sched_free(&sched)));
  EXPECT_TRUE(ok(weft_pool_free(&pool)));
}

// Whoever is yielded to goes on leaving by a mere switch, also where the one that yields cannot: here it has caught an
// exception. (A unit taken out of its pool otherwise may be put anywhere.)
TEST_F(Front, WhoIsYieldedToStaysDirect) {
  const auto is_direct = [](weft_unit_t unit) { return rt::unit_is(rt::from_handle(unit), rt::flag::kDirect); };
  bool stop = false;
  int turns = 0;
  int ways_lost = 0;
  Call other([&] {
    for (int i = 0; i < 3; ++i) weft_yield();
    while (!stop) {
      if (!is_direct(weft_self())) ++ways_lost;
      ++turns;
      front::yield(0);
    }
  });
  weft_unit_t units[] = {make(other, lane()), make(other, lane())};  // so that they leave for each other
  for (int i = 0; i < 5; ++i) weft_yield();
  Call call([&] {
    for (int i = 0; i < 10; ++i) {
      try {
        throw 1;
      } catch (int) {
        const int before = turns;
        EXPECT_TRUE(front::yield_to(units[0], 0));
        EXPECT_EQ(turns, before + 2);
      }
    }
    stop = true;
  });
  weft_unit_t caller = make(call, lane());
  EXPECT_TRUE(ok(weft_free(&caller)));
  EXPECT_TRUE(ok(weft_free_many(2, units)));
  EXPECT_EQ(ways_lost, 0);
}

// What somebody else has pushed comes before whoever yields afterwards, also where those who yield leave by a mere switch.
TEST_F(Front, WhatOthersHavePushedIsNotOvertaken) {
  bool stop = false;
  Call other([&] {
    while (!stop) front::yield(0);
  });
  weft_unit_t others = make(other, lane());
  Call call([&] {
    for (int i = 0; i < 5; ++i) front::yield(0);
    EXPECT_TRUE(rt::unit_is(rt::from_handle(weft_self()), rt::flag::kDirect));
    for (int i = 0; i < 20; ++i) {
      bool ran = false;
      Call pushed([&] { ran = true; });
      weft_unit_t unit = nullptr;
      std::thread([&] { unit = make(pushed, lane()); }).join();
      front::yield(0);
      EXPECT_TRUE(ran);
      EXPECT_TRUE(ok(weft_free(&unit)));
    }
    stop = true;
  });
  weft_unit_t caller = make(call, lane());
  EXPECT_TRUE(ok(weft_free(&caller)));
  EXPECT_TRUE(ok(weft_free(&others)));
}

// Whoever is about to sleep hears of an order too.
TEST_F(Front, AWorkerThatSleepsIsToldToFinish) {
  for (const bool finish : {true, false}) {
    SideWorker side;
    for (int i = 0; i < 3; ++i) weft_sleep(1'000'000);
    EXPECT_TRUE(ok(finish ? weft_sched_finish(side.sched) : weft_sched_exit(side.sched)));
    EXPECT_TRUE(wait_until([&] { return front::worker_stopped(side.worker); }));
  }
}

TEST_F(Front, WatchersAreToldOfWatchedUnits) {
  static std::vector<front::UnitEvent> events;
  events.clear();
  front::set_watcher([](weft_unit_t, front::UnitEvent event, weft_unit_t, weft_worker_t worker) {
    EXPECT_EQ(worker, weft_worker_get(0));
    EXPECT_EQ(weft_self(), nullptr);
    events.push_back(event);
  });
  Call call([] {
    weft_yield();
    weft_suspend();
  });
  front::UnitWish wish;
  wish.watched = true;
  weft_unit_t unit = make(call, lane(), wish);
  EXPECT_TRUE(wait_until([&] { return weft_unit_state(unit) == WEFT_UNIT_BLOCKED; }));
  EXPECT_TRUE(ok(weft_resume(unit)));
  EXPECT_TRUE(ok(weft_free(&unit)));
  in_ult([] { weft_yield(); });  // is not watched
  front::set_watcher(nullptr);
  using E = front::UnitEvent;
  EXPECT_EQ(events, (std::vector<E>{E::kRun, E::kYield, E::kRun, E::kSuspend, E::kResume, E::kRun, E::kFinish}));
}

}  // namespace
