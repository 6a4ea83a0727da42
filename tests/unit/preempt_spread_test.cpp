// That ULTs which ticks interrupt, and which never come to Weft by themselves, get to all workers (worker/ready.cpp, klt/hand_over.cpp).
#include <memory>
#include <thread>
#include <vector>

#include "api/handles.hpp"
#include "support/preempting.hpp"
#include "worker/runtime.hpp"
#include "worker/worker.hpp"

namespace {

using namespace weft_test;

class PreemptSpread : public SlicingTest {
 protected:
  // So many that spin, and never come to Weft; from the second worker on pinned.
  void spin(unsigned count, int worker, const std::atomic<bool>& end) {
    weft_unit_attr_t attr = WEFT_UNIT_ATTR_INIT;
    attr.worker = worker < 0 ? nullptr : weft_worker_get(static_cast<unsigned>(worker));
    attr.pinned = worker >= 0;
    const int before = running_;
    for (unsigned i = 0; i < count; ++i) {
      calls_.push_back(std::make_unique<Call>([&] {
        ++running_;
        spin_until(end);
      }));
      units_.push_back(calls_.back()->ult(worker < 0 ? nullptr : &attr));
    }
    if (worker > 0) {
      while (running_ != before + static_cast<int>(count)) weft_yield();
    }
  }
  std::vector<weft_unit_t> last(size_t count) const { return {units_.end() - static_cast<ptrdiff_t>(count), units_.end()}; }
  // Looked at from outside: one of them runs at worker 1, within 20 s.
  static bool gets_one_of(const std::vector<weft_unit_t>& units) {
    const weft::rt::Worker* worker = weft::rt::runtime.workers[1].load();
    for (const uint64_t stop = weft_after(20'000'000'000); weft_now() < stop;) {
      const weft::rt::Klt* carrier = worker->carrier.load();
      const weft::rt::Unit* unit = carrier != nullptr ? carrier->current.load() : nullptr;
      for (weft_unit_t wanted : units) {
        if (unit == weft::rt::from_handle(wanted)) return true;
      }
    }
    return false;
  }
  void join() { EXPECT_TRUE(ok(weft_free_many(units_.size(), units_.data()))); }

  std::atomic<int> running_{0};

 private:
  std::vector<std::unique_ptr<Call>> calls_;
  std::vector<weft_unit_t> units_;
};
INSTANTIATE_TEST_SUITE_P(All, PreemptSpread,
                         testing::Values(Slicing{WEFT_PREEMPTION_ON, WEFT_PREEMPTION_SIGNAL_YIELD, 2},
                                         Slicing{WEFT_PREEMPTION_ON, WEFT_PREEMPTION_KLT_SWITCHING, 2},
                                         Slicing{WEFT_PREEMPTION_AUTO, WEFT_PREEMPTION_SIGNAL_YIELD, 2},
                                         Slicing{WEFT_PREEMPTION_AUTO, WEFT_PREEMPTION_KLT_SWITCHING, 2},
                                         Slicing{WEFT_PREEMPTION_AUTO, WEFT_PREEMPTION_KLT_SWITCHING, 2, "chain"}),
                         name_of);

// Worker 1 is never idle, so it does not steal; but it has two to run where worker 0 has six.
TEST_P(PreemptSpread, AWorkerThatIsBusyGetsSomeOfTheOthers) {
  std::atomic<bool> end{false}, came{false};
  spin(2, 1, end);
  spin(6, -1, end);
  std::thread looks([&, six = last(6)] {
    came = gets_one_of(six);
    end = true;
  });
  join();
  looks.join();
  EXPECT_TRUE(came);
}

// It becomes idle, and steals: from a worker of which nobody comes to Weft.
TEST_P(PreemptSpread, AWorkerThatBecomesIdleGetsOne) {
  std::atomic<bool> leave{false}, end{false}, came{false};
  spin(1, 1, leave);
  spin(3, 0, end);
  spin(2, -1, end);
  std::thread looks([&, two = last(2)] {
    while (running_ != 6) std::this_thread::yield();
    leave = true;
    came = gets_one_of(two);
    end = true;
  });
  join();
  looks.join();
  EXPECT_TRUE(came);
}

}  // namespace
