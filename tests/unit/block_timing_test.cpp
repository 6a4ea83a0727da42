// What awareness of blocking costs beside a ULT that computes, on a core that nobody else wants.
#include <chrono>
#include <memory>
#include <thread>
#include <vector>

#include "sanitizer_switch.hpp"
#include "support/blocking.hpp"

namespace {

using namespace weft_test;

class BlockingAlone : public AwareTest {};
INSTANTIATE_TEST_SUITE_P(All, BlockingAlone,
                         testing::Values(Awareness{WEFT_BLOCKING_AUTO, "bpf", 1}, Awareness{WEFT_BLOCKING_ON, "bpf", 1},
                                         Awareness{WEFT_BLOCKING_AUTO, "perf", 1}, Awareness{WEFT_BLOCKING_ON, "perf", 1},
                                         Awareness{WEFT_BLOCKING_AUTO, "proc", 1}, Awareness{WEFT_BLOCKING_ON, "proc", 1}),
                         name_of);

TEST_P(BlockingAlone, TheScoutLeavesAComputingCarrierAlone) {
  if (weft::rt::san::kSignalsComeLate) return;
  Call other([] {});
  weft_unit_t waits = nullptr;
  const uint64_t before = blocking_info().looks;
  waits = other.ult();
  const uint64_t end = weft_after(500'000'000);
  while (weft_now() < end) asm volatile("");
  EXPECT_LE(blocking_info().looks - before, 100u);  // 200 a second
  EXPECT_TRUE(ok(weft_free(&waits)));
}

// Ten ULTs compute for longer than the shortest grace after each read, and never come to Weft by themselves. Where each
// stop finds that the worker's carrier sleeps as well, the graces grow.
TEST_P(BlockingAlone, WhoIsInNobodysWayIsSeldomStopped) {
  if (!perf() || weft::rt::san::kSignalsComeLate) return;
  constexpr int kUlts = 10, kRounds = 100;
  const uint64_t before = blocking_info().stopped;
  std::vector<Pipe> questions(kUlts), answers(kUlts);
  std::thread answerer([&] {
    for (int round = 0; round < kRounds; ++round) {
      for (int i = 0; i < kUlts; ++i) {
        questions[static_cast<size_t>(i)].get();
        answers[static_cast<size_t>(i)].put();
      }
    }
  });
  std::vector<std::unique_ptr<Call>> calls;
  std::vector<weft_unit_t> units;
  for (size_t i = 0; i < kUlts; ++i) {
    calls.push_back(std::make_unique<Call>([&, i] {
      for (int round = 0; round < kRounds; ++round) {
        questions[i].put();
        answers[i].get();
        const auto end = std::chrono::steady_clock::now() + std::chrono::microseconds(200);
        while (std::chrono::steady_clock::now() < end) asm volatile("");
      }
    }));
    units.push_back(calls.back()->ult());
  }
  EXPECT_TRUE(ok(weft_free_many(units.size(), units.data())));
  answerer.join();
  EXPECT_EQ(blocking_info().in_kernel, 0u);
  EXPECT_LE(blocking_info().stopped - before, static_cast<uint64_t>(kUlts * kRounds) * 3 / 4);
}

}  // namespace
