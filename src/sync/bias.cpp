// bias.cpp: the numbers are the steps of README.md, "Bias".
#include "sync/bias.hpp"

#include "os/membarrier.hpp"
#include "sync/wait_queue.hpp"

namespace weft::rt {

// B1, B2. While nobody has had the mutex to itself yet, `held` is the tag of the worker that came last, with a count.
void count_towards_bias(const Worker* worker, Mutex& mutex) noexcept {
  // So often that most of what is locked a few times in turns, or once in its life, is never biased: to take
  // it away again costs as much as hundreds of locked instructions.
  constexpr uint32_t kTimes = 32;
  static_assert(kTimes < 1u << kTagShift);
  if (worker == nullptr) return mutex.held.store(0, std::memory_order_relaxed);
  const uint32_t seen = mutex.held.load(std::memory_order_relaxed);
  const uint32_t times = seen ^ worker->tag;
  if (times < kTimes) return mutex.held.store(seen + 1, std::memory_order_relaxed);
  if (times != kTimes || guard_in(&mutex) == kGuardDown) {
    return mutex.held.store(worker->tag + 1, std::memory_order_relaxed);
  }
  mutex.held.store(held::kYes, std::memory_order_relaxed);
  uint32_t locked = sync_bit::kLocked;
  // Release, pairs with the acquire in take_bias_away(). It fails where somebody waits.
  if (!mutex.state.compare_exchange_strong(locked, worker->tag, std::memory_order_release,
                                           std::memory_order_relaxed)) {
    mutex.held.store(0, std::memory_order_relaxed);
  }
}

void know_tag(const Worker* worker) noexcept {
  if (san::kSignalsComeLate) return;
  std::atomic<uint32_t>& tag = klt_self()->own.load(std::memory_order_relaxed)->tag;
  if (tag.load(std::memory_order_relaxed) == worker->tag) return;
  // Sequentially consistent, pairs with whoever publishes the worker as gone, and then forgets the tag: either that one's store is
  // the later one, or we see that there is no worker.
  tag.store(worker->tag, std::memory_order_seq_cst);
  const bool gone = klt_self()->worker.load(std::memory_order_seq_cst) == nullptr;
  if (gone) tag.store(kNoTag, std::memory_order_relaxed);
}

// T1 to T4.
void take_bias_away(const Worker* worker, Mutex& mutex) noexcept {
  using namespace sync_bit;
  using namespace mutex_bit;
  uint32_t seen = mutex.state.load(std::memory_order_relaxed);
  do {
    if (!is_biased(seen)) return;
    // Acquire, pairs with the release of whoever made it biased.
  } while (!mutex.state.compare_exchange_weak(seen, kNoBias | kDeciding | kLocked | kQueue, std::memory_order_acquire,
                                              std::memory_order_relaxed));
  const bool own = worker != nullptr && seen == worker->tag;
  if (!own) {
    membarrier_all();
    klt_wait_until_none_in(&mutex);
  }
  // Acquire, pairs with the release of whoever has changed it.
  const uint32_t held = mutex.held.load(std::memory_order_acquire);
  if (own) note_holder(mutex);
  mutex.state.store(held == held::kYes ? kNoBias | kLocked : kNoBias, std::memory_order_release);
}

}  // namespace weft::rt
