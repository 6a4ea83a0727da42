// ABT_barrier and ABT_xstream_barrier.
#include "support/abt_fixture.hpp"

namespace {

using namespace weft_test;

class AbtBarrier : public AbtTest {};

// Nobody passes before all have come, round after round; then with another number of participants.
TEST_F(AbtBarrier, KeepsRoundsApart) {
  constexpr int kRounds = 50;
  SideWorker side;
  const weft_unit_attr_t there = side.attr();
  ABT_barrier barrier;
  ASSERT_TRUE(abt_ok(ABT_barrier_create(1, &barrier)));
  for (const int participants : {1, 4, 9}) {
    EXPECT_TRUE(abt_ok(ABT_barrier_reinit(barrier, static_cast<uint32_t>(participants))));
    uint32_t told = 0;
    EXPECT_TRUE(abt_ok(ABT_barrier_get_num_waiters(barrier, &told)));
    EXPECT_EQ(told, static_cast<uint32_t>(participants));
    std::atomic<int> arrived = 0;
    const auto work = [&] {
      for (int round = 1; round <= kRounds; ++round) {
        ++arrived;
        EXPECT_TRUE(abt_ok(ABT_barrier_wait(barrier)));
        EXPECT_GE(arrived, round * participants);
        EXPECT_LE(arrived, (round + 1) * participants);
      }
    };
    Call call(work);
    std::vector<weft_unit_t> units;
    for (int i = 1; i < participants; ++i) units.push_back(call.ult(i % 2 == 0 ? &there : nullptr));
    std::thread external(work);
    EXPECT_TRUE(ok(weft_free_many(units.size(), units.data())));
    external.join();
  }
  EXPECT_TRUE(abt_ok(ABT_barrier_free(&barrier)));
  EXPECT_EQ(barrier, ABT_BARRIER_NULL);
}

TEST_F(AbtBarrier, IsLeftAloneWhileSomebodyWaits) {
  ABT_barrier barrier;
  ASSERT_TRUE(abt_ok(ABT_barrier_create(2, &barrier)));
  Call waiter([&] { EXPECT_TRUE(abt_ok(ABT_barrier_wait(barrier))); });
  weft_unit_t unit = waiter.ult();
  ASSERT_TRUE(wait_until([&] { return weft_unit_state(unit) == WEFT_UNIT_BLOCKED; }));
  EXPECT_TRUE(abt_fails(ABT_ERR_BARRIER, ABT_barrier_reinit(barrier, 3)));
  EXPECT_TRUE(abt_fails(ABT_ERR_BARRIER, ABT_barrier_free(&barrier)));
  EXPECT_TRUE(abt_ok(ABT_barrier_wait(barrier)));
  EXPECT_TRUE(ok(weft_free(&unit)));
  EXPECT_TRUE(abt_ok(ABT_barrier_free(&barrier)));
}

TEST_F(AbtBarrier, Errors) {
  ABT_barrier barrier = nullptr;
  EXPECT_TRUE(abt_fails(ABT_ERR_INV_ARG, ABT_barrier_create(0, &barrier)));
  EXPECT_EQ(barrier, kAbt20 ? nullptr : ABT_BARRIER_NULL);
  ASSERT_TRUE(abt_ok(ABT_barrier_create(1, &barrier)));
  EXPECT_TRUE(abt_fails(ABT_ERR_INV_ARG, ABT_barrier_reinit(barrier, 0)));
  in_tasklet([&] { EXPECT_TRUE(abt_fails(kAbt20 ? ABT_SUCCESS : ABT_ERR_BARRIER, ABT_barrier_wait(barrier))); });
  EXPECT_TRUE(abt_ok(ABT_barrier_free(&barrier)));
  uint32_t number;
  ABT_barrier null = ABT_BARRIER_NULL;
  EXPECT_TRUE(abt_fails(ABT_ERR_INV_BARRIER, ABT_barrier_wait(null)));
  EXPECT_TRUE(abt_fails(ABT_ERR_INV_BARRIER, ABT_barrier_reinit(null, 1)));
  EXPECT_TRUE(abt_fails(ABT_ERR_INV_BARRIER, ABT_barrier_get_num_waiters(null, &number)));
  EXPECT_TRUE(abt_fails(ABT_ERR_INV_BARRIER, ABT_barrier_free(&null)));
}

// It is the ES that waits: other units of it do not run meanwhile. Tasklets and threads may wait too.
TEST_F(AbtBarrier, OfStreamsHoldsTheStream) {
  SideWorker side;
  const weft_unit_attr_t there = side.attr();
  ABT_xstream_barrier barrier;
  ASSERT_TRUE(abt_ok(ABT_xstream_barrier_create(2, &barrier)));
  for (int round = 0; round < 20; ++round) {
    std::atomic<bool> passed = false;
    weft_event_t begun = WEFT_EVENT_INIT;
    Call waiter([&] {
      EXPECT_TRUE(ok(weft_event_set(&begun)));
      EXPECT_TRUE(abt_ok(ABT_xstream_barrier_wait(barrier)));
      passed = true;
    });
    Call behind([&] { EXPECT_TRUE(passed); });
    weft_unit_t units[] = {round % 2 == 0 ? waiter.ult(&there) : waiter.tasklet(&there), nullptr};
    EXPECT_TRUE(ok(weft_event_wait(&begun)));
    units[1] = behind.ult(&there);
    EXPECT_FALSE(passed);
    if (round % 4 < 2) {
      EXPECT_TRUE(abt_ok(ABT_xstream_barrier_wait(barrier)));
    } else {
      on_klt([&] { EXPECT_TRUE(abt_ok(ABT_xstream_barrier_wait(barrier))); });
    }
    EXPECT_TRUE(ok(weft_free_many(2, units)));
  }
  EXPECT_TRUE(abt_ok(ABT_xstream_barrier_free(&barrier)));
  EXPECT_EQ(barrier, ABT_XSTREAM_BARRIER_NULL);
}

TEST_F(AbtBarrier, ErrorsOfStreams) {
  ABT_xstream_barrier barrier = nullptr;
  EXPECT_TRUE(abt_fails(ABT_ERR_INV_ARG, ABT_xstream_barrier_create(0, &barrier)));
  EXPECT_EQ(barrier, kAbt20 ? nullptr : ABT_XSTREAM_BARRIER_NULL);
  barrier = ABT_XSTREAM_BARRIER_NULL;
  EXPECT_TRUE(abt_fails(ABT_ERR_INV_XSTREAM_BARRIER, ABT_xstream_barrier_wait(barrier)));
  EXPECT_TRUE(abt_fails(ABT_ERR_INV_XSTREAM_BARRIER, ABT_xstream_barrier_free(&barrier)));
}

}  // namespace
