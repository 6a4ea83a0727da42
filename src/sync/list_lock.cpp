// list_lock.cpp: the numbers are the steps of README.md, "Lists that one worker has to itself".
#include "sync/list_lock.hpp"

namespace weft::rt {

bool take_list_away(std::atomic<uint32_t>& state, uint32_t seen) noexcept {
  // T1. Acquire, pairs with the release by which the list became that worker's.
  if (!state.compare_exchange_strong(seen, sync_bit::kQueue, std::memory_order_acquire, std::memory_order_relaxed)) {
    return false;
  }
  membarrier_all();  // T2
  WorkerMarks& marks = worker_marks[(seen >> kTagShift) - 1];
  QueueBackoff backoff;
  // T3. Acquire, pairs with the release of the worker.
  while (marks.changing.load(std::memory_order_acquire) == mark_of(&state)) backoff.pause();
  klt_wait_until_none_in(&state);
  san::acquire(&state);
  return true;
}

}  // namespace weft::rt
