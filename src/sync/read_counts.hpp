// read_counts.hpp: readers of a lock that are counted by their workers. Protocol and proof: README.md,
// "Readers that are counted apart".
//
// Idea: what costs a lock for reading its time is that all readers write one word: two locked instructions, and a cache
// line that every core wants. Each worker counts those that lock and unlock on it in a word of its own, with plain
// stores. A writer sums up, after a membarrier(). (BRAVO, Dice and Kogan 2019; Linux' percpu_rw_semaphore.)
// Rejected: numbers below 0, for whoever unlocks on another worker than it has locked on (nobody could say any
// more that a lock is not locked); counters in the lock itself (a cache line for each worker).
#pragma once

#include <atomic>

#include "worker/worker.hpp"

namespace weft::rt {

namespace read_count {
// A count: the address of the lock's state; above it, how many.
inline constexpr unsigned kShift = 48;
inline constexpr uint64_t kOne = uint64_t{1} << kShift;
// So many at most on one worker. All workers' have room in a lock's state.
inline constexpr uint64_t kMost = (uint64_t{1} << 23) / kMaxWorkers - 1;

inline uint64_t key_of(const std::atomic<uint32_t>& state) noexcept { return reinterpret_cast<uintptr_t>(&state); }
inline bool is_of(uint64_t count, uint64_t key) noexcept { return (count & (kOne - 1)) == key; }
// Addresses above are for programs that ask for them.
inline bool can_be_key(uint64_t key) noexcept { return key < kOne; }

// Several locks share a count, at different times.
[[gnu::always_inline]] inline std::atomic<uint64_t>& count_of(WorkerMarks& marks, uint64_t key) noexcept {
  static_assert(WorkerMarks::kCounts == 16);
  return marks.counts[static_cast<uint32_t>(key >> 3) * 0x9e3779b1u >> 28];
}
}  // namespace read_count

// C1 to C5. One reader more, or (`leaves`) one less. `counted` is what the lower bits of the state are where
// readers are counted apart. False: they are not, or not this one. Guard up.
template <bool leaves, uint32_t kFlags>
[[gnu::always_inline]] inline bool count_reader(const Worker* worker, const std::atomic<uint32_t>& state,
                                                uint32_t counted) noexcept {
  using namespace read_count;
  WorkerMarks& marks = *worker->marks;
  const uint64_t key = key_of(state);
  std::atomic<uint64_t>& count = count_of(marks, key);
  marks.changing.store(mark_of(&state), std::memory_order_relaxed);
  // The other half of this fence is the membarrier() in take_read_counts().
  std::atomic_signal_fence(std::memory_order_seq_cst);
  // Acquire, pairs with the release of a writer.
  bool done = (state.load(std::memory_order_acquire) & kFlags) == counted;
  const uint64_t seen = count.load(std::memory_order_relaxed);
  // Most often it is the only one here. Release, pairs with the acquire in take_read_counts().
  if (__builtin_expect(done && seen == (leaves ? key + kOne : key), 1)) {
    count.store(leaves ? key : key + kOne, std::memory_order_release);
  } else if constexpr (leaves) {
    done = done && is_of(seen, key) && seen >= kOne;
    if (done) count.store(seen - kOne, std::memory_order_release);
  } else {
    done = done && (is_of(seen, key) ? seen < kMost << kShift : seen < kOne);
    if (done) count.store((is_of(seen, key) ? seen : key) + kOne, std::memory_order_release);
  }
  // Release, pairs with the acquire in take_read_counts(). The last access of a reader that leaves.
  marks.changing.store(0, std::memory_order_release);
  return done;
}

// X2 to X4: how many readers of this lock workers have counted; from here on none. Precondition: the state says that
// they do not count now, and keeps saying it.
uint32_t take_read_counts(const std::atomic<uint32_t>& state) noexcept;

// Whether they may begin to count: no worker has a count left of a lock that was here before.
bool read_counts_are_free(const std::atomic<uint32_t>& state) noexcept;

}  // namespace weft::rt
