// The turns of ULTs that compute (src/preempt/turn.cpp): longer where nobody else waits.
#include <algorithm>
#include <thread>

#include "support/preempting.hpp"
#include "worker/runtime.hpp"
#include "worker/worker.hpp"

namespace {

using namespace weft_test;

class PreemptTurns : public SlicingTest {
 protected:
  // So that ticks find more than one register changed.
  static void compute_until(const std::atomic<bool>& end) {
    volatile uint64_t sum = 1;
    volatile double other = 1;
    while (!end.load(std::memory_order_relaxed)) {
      for (int i = 0; i < 1000; ++i) {
        sum = sum * 6364136223846793005u + 1;
        other = other * 1.0000001 + 1e-9;
      }
      spin_once();
    }
  }
  static weft::rt::PreemptClock& clock_of_worker() { return weft::rt::runtime.workers[0].load()->preempt; }
  static uint32_t turn() { return clock_of_worker().turn.load(); }
  static void wait_for_long_turns() {
    uint32_t longest = 1;
    for (const uint64_t stop = weft_after(60'000'000'000); longest < 4 && weft_now() < stop;) longest = std::max(longest, turn());
    EXPECT_EQ(longest, 4u);
  }
};
INSTANTIATE_TEST_SUITE_P(All, PreemptTurns,
                         testing::Values(Slicing{WEFT_PREEMPTION_AUTO, WEFT_PREEMPTION_SIGNAL_YIELD, 1},
                                         Slicing{WEFT_PREEMPTION_AUTO, WEFT_PREEMPTION_KLT_SWITCHING, 1}),
                         name_of);

TEST_P(PreemptTurns, AreUpToFourIntervals) {
  if (weft::rt::san::kSignalsComeLate) GTEST_SKIP() << "ticks leave notes only";
  std::atomic<bool> end{false};
  Call first([&] { compute_until(end); }), second([&] { compute_until(end); }), third([&] { compute_until(end); });
  weft_unit_t units[] = {first.ult(), second.ult(), third.ult()};
  std::thread looks([&] {
    wait_for_long_turns();
    end = true;
  });
  EXPECT_TRUE(ok(weft_free_many(3, units)));
  looks.join();
}

// Also where none of those that compute ever lets others run by itself.
TEST_P(PreemptTurns, AreLongAgainWhenNobodySpinsAnyMore) {
  if (weft::rt::san::kSignalsComeLate) GTEST_SKIP() << "ticks leave notes only";
  std::atomic<bool> computes{false}, end{false};
  const auto body = [&] {
    spin_until(computes);
    compute_until(end);
  };
  Call first(body), second(body), third(body);
  weft_unit_t units[] = {first.ult(), second.ult(), third.ult()};
  std::thread looks([&] {
    while (clock_of_worker().spun.load() == 0) std::this_thread::yield();
    computes = true;
    wait_for_long_turns();
    end = true;
  });
  EXPECT_TRUE(ok(weft_free_many(3, units)));
  looks.join();
}

// Whoever pushes it sees to that, or the worker, which may be about to begin a turn.
TEST_P(PreemptTurns, EndSoonForWhoIsNew) {
  if (weft::rt::san::kSignalsComeLate) GTEST_SKIP() << "ticks leave notes only";
  constexpr uint64_t kLength = 20'000'000, kGrid = 10'000'000;
  ASSERT_TRUE(ok(weft_preemption_set_interval(kLength)));
  std::atomic<bool> end{false};
  Call first([&] { compute_until(end); }), second([&] { compute_until(end); });
  weft_unit_t units[] = {first.ult(), second.ult()};
  weft::rt::Worker* const worker = weft::rt::runtime.workers[0].load();
  int seen = 0;
  std::thread others([&] {
    weft_unit_attr_t attr = WEFT_UNIT_ATTR_INIT;
    attr.worker = weft_worker_get(0);
    for (int round = 0; round < 5; ++round) {
      while (turn() == 1) std::this_thread::yield();
      std::atomic<bool> begun{false};
      Call call([&] { begun = true; });
      weft_unit_t unit = call.ult(&attr);
      const auto comes_soon = [&] {
        const weft::rt::Klt* carrier = worker->carrier.load();
        return turn() == 1 && carrier != nullptr && carrier->tick_due.load() <= weft_now() + kLength + kGrid;
      };
      bool soon = false;
      for (const uint64_t stop = weft_after(kGrid); !soon && weft_now() < stop;) soon = comes_soon();
      if (!begun) {  // and so nobody has had a whole turn since
        ++seen;
        EXPECT_TRUE(soon);
      }
      EXPECT_TRUE(ok(weft_free(&unit)));
    }
    end = true;
  });
  EXPECT_TRUE(ok(weft_free_many(2, units)));
  others.join();
  EXPECT_GT(seen, 0);
}

}  // namespace
