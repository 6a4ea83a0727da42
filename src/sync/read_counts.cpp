// read_counts.cpp: the numbers are the steps of README.md, "Readers that are counted apart".
#include "sync/read_counts.hpp"

#include "os/membarrier.hpp"
#include "sync/wait_queue.hpp"

namespace weft::rt {

using namespace read_count;

namespace {

template <class F>
void for_all_marks(F&& f) noexcept {
  const unsigned used = worker_marks_used.load(std::memory_order_acquire);
  for (unsigned i = 0; i < used; ++i) f(worker_marks[i]);
}

}  // namespace

uint32_t take_read_counts(const std::atomic<uint32_t>& state) noexcept {
  const uint64_t key = key_of(state);
  membarrier_all();
  uint64_t readers = 0;
  for_all_marks([&](WorkerMarks& marks) {
    QueueBackoff backoff;
    // Acquire, pairs with the release of the worker.
    while (marks.changing.load(std::memory_order_acquire) == mark_of(&state)) backoff.pause();
    std::atomic<uint64_t>& count = count_of(marks, key);
    const uint64_t seen = count.load(std::memory_order_acquire);
    // One of 0 readers is free for other locks: the worker may be writing there.
    if (!is_of(seen, key) || seen < kOne) return;
    readers += seen >> kShift;
    // Relaxed: the worker uses it for another lock or, after the state has been stored with release, for this one.
    count.store(0, std::memory_order_relaxed);
  });
  return static_cast<uint32_t>(readers);
}

bool read_counts_are_free(const std::atomic<uint32_t>& state) noexcept {
  const uint64_t key = key_of(state);
  bool free = can_be_key(key);
  for_all_marks([&](WorkerMarks& marks) {
    const uint64_t seen = count_of(marks, key).load(std::memory_order_relaxed);
    if (is_of(seen, key) && seen >= kOne) free = false;
  });
  return free;
}

}  // namespace weft::rt
