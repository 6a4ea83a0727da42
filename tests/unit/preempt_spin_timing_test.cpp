// The slices of units that only spin (src/preempt/spin.cpp): those who wait for each other in turn get short ones, and who computes keeps
// his. A tick that comes late, or after others have had the core, tells nothing.
#include <atomic>
#include <memory>
#include <vector>

#include "klt/guard.hpp"
#include "preempt/preempt.hpp"
#include "support/preempting.hpp"
#include "unit/unit.hpp"

namespace {

using namespace weft_test;
using namespace weft::rt;

constexpr uint64_t kInterval = 1'000'000;

class PreemptSpin : public SlicingTest {
 protected:
  static uint64_t own_slice() {
    Worker* worker = guard_enter();
    const uint64_t slice = preempt_slice(klt_current());
    guard_leave(worker);
    return slice;
  }
};
INSTANTIATE_TEST_SUITE_P(All, PreemptSpin,
                         testing::Values(Slicing{WEFT_PREEMPTION_ON, WEFT_PREEMPTION_SIGNAL_YIELD, 1},
                                         Slicing{WEFT_PREEMPTION_ON, WEFT_PREEMPTION_KLT_SWITCHING, 2},
                                         Slicing{WEFT_PREEMPTION_AUTO, WEFT_PREEMPTION_SIGNAL_YIELD, 2},
                                         Slicing{WEFT_PREEMPTION_AUTO, WEFT_PREEMPTION_KLT_SWITCHING, 1}),
                         name_of);

// Six wait for each other in turn, by spinning, until three of them have short slices (a worker may have one alone), or many steps
// are done. How many have then. `order`: whose turn the i-th that is made has.
int shrunk_in_turn(int (*order)(int), uint64_t (*own_slice)()) {
  constexpr int kUlts = 6, kEnough = 3, kSteps = 3000;
  int turn = 0;
  std::atomic<int> shrunk{0};
  const auto on = [&] { return shrunk < kEnough && __atomic_load_n(&turn, __ATOMIC_ACQUIRE) < kSteps; };
  std::vector<std::unique_ptr<Call>> calls;
  std::vector<weft_unit_t> units;
  for (int i = 0; i < kUlts; ++i) {
    calls.push_back(std::make_unique<Call>([&, me = order(i)] {
      bool counted = false;
      for (int mine = me; on(); mine += kUlts) {
        while (__atomic_load_n(&turn, __ATOMIC_ACQUIRE) < mine && on()) {
        }
        if (!counted && own_slice() <= kInterval / 4) {
          counted = true;
          ++shrunk;
        }
        __atomic_fetch_add(&turn, 1, __ATOMIC_RELEASE);
      }
    }));
    units.push_back(calls.back()->ult());
  }
  EXPECT_TRUE(ok(weft_free_many(units.size(), units.data())));
  return shrunk;
}

// Each waits for one that comes behind it: so each step takes a round of all slices.
TEST_P(PreemptSpin, ThoseWhoWaitInTurnGetShortSlices) {
  if (san::kSignalsComeLate) GTEST_SKIP() << "there are no frames to look at";
  EXPECT_GE(shrunk_in_turn([](int i) { return 5 - i; }, own_slice), 3);
}

// Each slice ends with another wait than the one before.
TEST_P(PreemptSpin, AlsoWhereEachSliceIsOfUse) {
  if (san::kSignalsComeLate) GTEST_SKIP() << "there are no frames to look at";
  EXPECT_GE(shrunk_in_turn([](int i) { return i; }, own_slice), 3);
}

// Now and then a look finds nothing changed, since somebody else had the core, the hypervisor for example: that is forgotten after a few
// ticks.
TEST_P(PreemptSpin, WhoComputesKeepsHis) {
  struct Looks {
    int all = 0, at_a_short_one = 0;
  };
  std::vector<std::unique_ptr<Call>> calls;
  std::vector<weft_unit_t> units;
  std::vector<Looks> looks(3 * workers());
  for (Looks& own : looks) {
    calls.push_back(std::make_unique<Call>([&] {
      volatile uint64_t sum = 1;
      const uint64_t end = weft_after(100'000'000);
      while (weft_now() < end) {
        for (int i = 0; i < 10000; ++i) sum = sum * 6364136223846793005u + 1;
        ++own.all;
        own.at_a_short_one += own_slice() < kInterval / 4;
      }
    }));
    units.push_back(calls.back()->ult());
  }
  EXPECT_TRUE(ok(weft_free_many(units.size(), units.data())));
  for (const Looks& own : looks) EXPECT_LE(own.at_a_short_one, own.all / 4);
}

}  // namespace
