// gather.hpp: how the last one of a team knows that it is the last.
//
// Up to kAlone count in one number. With sixteen that would be sixteen turns at one cache line, some 100 ns each: of more, each
// group of kGroup counts on a line of its own, and its last one counts for all of it.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <memory>

namespace weft::omp {

struct alignas(64) Group {
  std::atomic<uint32_t> arrived{0};  // at a barrier
  std::atomic<uint32_t> ended{0};    // the region
};

inline constexpr uint32_t kAlone = 8, kGroup = 4;

constexpr uint32_t groups_of(uint32_t n) { return n <= kAlone ? 0 : (n + kGroup - 1) / kGroup; }
// What the number for all is when n have come.
constexpr uint32_t gathered(uint32_t n) { return n <= kAlone ? n : groups_of(n); }

// The i-th of n has come, to where the number for all was `before`. True: as the last one: it has seen what all others did before.
// seq_cst: W2 of wait.hpp. `groups` is looked at only where there are some.
inline bool gather(std::atomic<uint32_t>& all, uint32_t before, const std::unique_ptr<Group[]>& groups,
                   std::atomic<uint32_t> Group::*part, uint32_t i, uint32_t n) {
  if (n > kAlone) {
    std::atomic<uint32_t>& some = groups[i / kGroup].*part;
    const uint32_t size = std::min(kGroup, n - i / kGroup * kGroup);
    if (some.fetch_add(1, std::memory_order_acq_rel) + 1 != size) return false;
    some.store(0, std::memory_order_relaxed);  // for the next time, which begins when all have come
  }
  return all.fetch_add(1, std::memory_order_seq_cst) + 1 - before == gathered(n);
}

}  // namespace weft::omp
