// preempting.hpp: for tests of preemption: a runtime with ticks, and loops that never come back to Weft by themselves.
#pragma once

#include <cstdlib>

#include "sanitizer_switch.hpp"
#include "support/runtime_fixture.hpp"

namespace weft_test {

// In the place of an empty loop body. Under ThreadSanitizer a tick leaves a note, and no loop is preempted that calls
// nothing of Weft's.
inline void spin_once() {
  if (weft::rt::san::kSignalsComeLate) weft_cancel_point();
}

inline void spin_until(const std::atomic<bool>& flag) {
  while (!flag.load(std::memory_order_relaxed)) spin_once();
}

inline void spin_for(std::chrono::milliseconds time) {
  const uint64_t end = weft_after(static_cast<uint64_t>(time.count()) * 1'000'000);
  while (weft_now() < end) spin_once();
}

struct Slicing {
  weft_preemption_mode_t mode;
  weft_preemption_t kind;
  unsigned workers;
  const char* timer = "worker";  // WEFT_PREEMPTION_TIMER
};

inline std::string name_of(const testing::TestParamInfo<Slicing>& info) {
  const Slicing& s = info.param;
  return std::string(s.mode == WEFT_PREEMPTION_ON ? "On" : "Auto") +
         (s.kind == WEFT_PREEMPTION_SIGNAL_YIELD ? "SignalYield" : "KltSwitching") + std::to_string(s.workers) +
         (*s.timer == 'o' ? "OneToAll" : *s.timer == 'c' ? "Chain" : "");
}

inline const auto kSlicings = testing::Values(
    Slicing{WEFT_PREEMPTION_ON, WEFT_PREEMPTION_SIGNAL_YIELD, 1},
    Slicing{WEFT_PREEMPTION_ON, WEFT_PREEMPTION_SIGNAL_YIELD, 2},
    Slicing{WEFT_PREEMPTION_ON, WEFT_PREEMPTION_KLT_SWITCHING, 1},
    Slicing{WEFT_PREEMPTION_ON, WEFT_PREEMPTION_KLT_SWITCHING, 2},
    Slicing{WEFT_PREEMPTION_AUTO, WEFT_PREEMPTION_SIGNAL_YIELD, 1},
    Slicing{WEFT_PREEMPTION_AUTO, WEFT_PREEMPTION_SIGNAL_YIELD, 2},
    Slicing{WEFT_PREEMPTION_AUTO, WEFT_PREEMPTION_KLT_SWITCHING, 1},
    Slicing{WEFT_PREEMPTION_AUTO, WEFT_PREEMPTION_KLT_SWITCHING, 2},
    Slicing{WEFT_PREEMPTION_ON, WEFT_PREEMPTION_SIGNAL_YIELD, 2, "one-to-all"},
    Slicing{WEFT_PREEMPTION_ON, WEFT_PREEMPTION_KLT_SWITCHING, 4, "one-to-all"},
    Slicing{WEFT_PREEMPTION_AUTO, WEFT_PREEMPTION_SIGNAL_YIELD, 4, "one-to-all"},
    Slicing{WEFT_PREEMPTION_AUTO, WEFT_PREEMPTION_KLT_SWITCHING, 2, "one-to-all"},
    Slicing{WEFT_PREEMPTION_ON, WEFT_PREEMPTION_SIGNAL_YIELD, 4, "chain"},
    Slicing{WEFT_PREEMPTION_ON, WEFT_PREEMPTION_KLT_SWITCHING, 2, "chain"},
    Slicing{WEFT_PREEMPTION_AUTO, WEFT_PREEMPTION_SIGNAL_YIELD, 2, "chain"},
    Slicing{WEFT_PREEMPTION_AUTO, WEFT_PREEMPTION_KLT_SWITCHING, 4, "chain"});

inline weft_preemption_info_t preemption_info() {
  weft_preemption_info_t info{};
  EXPECT_TRUE(ok(weft_preemption_info(&info)));
  return info;
}

// With ticks, and units that are preempted as `kind` says where they do not.
class PreemptingTest : public RuntimeTest {
 protected:
  PreemptingTest(unsigned workers, weft_preemption_mode_t mode, weft_preemption_t kind)
      : RuntimeTest(workers), mode_(mode), kind_(kind) {}
  void SetUp() override {
    RuntimeTest::SetUp();
    ASSERT_TRUE(ok(weft_preemption_set_default(kind_)));
    ASSERT_TRUE(ok(weft_preemption_set_mode(mode_)));
  }

 private:
  weft_preemption_mode_t mode_;
  weft_preemption_t kind_;
};

class SlicingTest : public PreemptingTest, public testing::WithParamInterface<Slicing> {
 protected:
  SlicingTest() : PreemptingTest(GetParam().workers, GetParam().mode, GetParam().kind) {}
  void SetUp() override {
    setenv("WEFT_PREEMPTION_TIMER", GetParam().timer, 1);
    PreemptingTest::SetUp();
    unsetenv("WEFT_PREEMPTION_TIMER");
  }
};

}  // namespace weft_test
