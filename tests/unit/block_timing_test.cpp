// What awareness of blocking costs beside a ULT that computes, on a core that nobody else wants.
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

}  // namespace
