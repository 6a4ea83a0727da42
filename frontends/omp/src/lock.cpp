// lock.cpp
//
// The word: 0: free; else kLocked, with what else the holder keeps there, and kMark where somebody may wait. Who waits is in no
// room of the lock but in a bucket, which is found by the lock's address and shared with others; and sleeps on an event of its own.
//
// A release that finds the mark takes the first waiter out of the bucket, makes the word free and wakes that one, which comes back
// for it. Meanwhile anybody may take it, without the mark, though others wait: the woken one is sure to come, sees in the
// bucket that others wait, and sets the mark for them, whether it gets the lock or not. Who was passed over twice is handed
// the lock: with one worker a loop that releases and acquires would otherwise keep it for ever.
//
// After its last access to the word a release knows the bucket only: whoever gets the lock may destroy it.
#include "lock.hpp"

#include "arch/pause.hpp"
#include "front/front.hpp"
#include "team.hpp"
#include "weft/weft.h"

namespace weft::omp {
namespace {

constexpr unsigned kLocked = Lock::kLocked;
constexpr unsigned kMark = 2;
constexpr unsigned kPatience = 2;  // times that a waiter is passed over

struct LockWaiter {
  const void* lock;
  uint64_t mine;  // the word of the lock when it is the waiter's
  unsigned missed = 0;
  bool handed = false;
  LockWaiter* next = nullptr;
  weft_event_t woken = WEFT_EVENT_INIT;
};

struct alignas(64) Bucket {
  weft_mutex_t mutex = WEFT_MUTEX_OPEN_INIT;  // shared by all workers: no bias, no hand-over
  LockWaiter* first = nullptr;                // under the mutex; of all its locks
};

Bucket buckets[64];

Bucket& bucket_of(const void* lock) {
  // Locks in an array, of whatever size, spread over all of them.
  return buckets[(reinterpret_cast<uintptr_t>(lock) >> 2) * 0x9e3779b97f4a7c15u >> 58];
}

bool has_waiter(const Bucket& bucket, const void* lock) {
  for (const LockWaiter* waiter = bucket.first; waiter != nullptr; waiter = waiter->next) {
    if (waiter->lock == lock) return true;
  }
  return false;
}

LockWaiter* take_waiter(Bucket& bucket, const void* lock) {
  for (LockWaiter** link = &bucket.first; *link != nullptr; link = &(*link)->next) {
    LockWaiter* const waiter = *link;
    if (waiter->lock != lock) continue;
    *link = waiter->next;
    return waiter;
  }
  return nullptr;
}

// Who was passed over goes in front.
void add_waiter(Bucket& bucket, LockWaiter& waiter) {
  LockWaiter** link = &bucket.first;
  while (waiter.missed == 0 && *link != nullptr) link = &(*link)->next;
  waiter.next = *link;
  *link = &waiter;
}

template <typename Word>
bool take_free(std::atomic<Word>& word, Word mine) {
  Word free = 0;
  // Acquire, pairs with the release of whoever had it.
  return word.compare_exchange_strong(free, mine, std::memory_order_acquire, std::memory_order_relaxed);
}

// A holder on another core is likely to be gone soon; one on this worker is not, before others of it have run.
template <typename Word>
bool take_soon(std::atomic<Word>& word, Word mine) {
  if (weft_initialized() && weft_workers_active() <= 1) return false;
  for (unsigned pauses = 1; pauses <= 128; pauses *= 2) {
    for (unsigned i = 0; i < pauses; ++i) rt::cpu_pause();
    if (word.load(std::memory_order_relaxed) == 0 && take_free(word, mine)) return true;
  }
  return false;
}

// Under the bucket's mutex. True: the lock is taken. Else it is marked, and its release comes for the bucket.
template <typename Word>
bool take_or_mark(std::atomic<Word>& word, Word mine, bool others) {
  Word seen = word.load(std::memory_order_relaxed);
  for (;;) {
    const Word wanted = seen == 0 ? mine | (others ? kMark : 0) : seen | kMark;
    if (word.compare_exchange_weak(seen, wanted, std::memory_order_acquire, std::memory_order_relaxed)) return seen == 0;
  }
}

template <typename Word>
[[gnu::noinline]] void acquire_slowly(std::atomic<Word>& word, Word mine) {
  if (take_soon(word, mine)) return;
  Bucket& bucket = bucket_of(&word);
  for (LockWaiter self{.lock = &word, .mine = mine};; ++self.missed) {
    weft_mutex_lock(&bucket.mutex);
    const bool taken = take_or_mark(word, mine, has_waiter(bucket, &word));
    if (!taken) add_waiter(bucket, self);
    weft_mutex_unlock(&bucket.mutex);
    if (taken) return;
    weft_event_wait(&self.woken);
    if (self.handed) return;
    weft_event_reset(&self.woken);
  }
}

template <typename Word>
[[gnu::noinline]] void release_slowly(std::atomic<Word>& word) {
  Bucket& bucket = bucket_of(&word);
  weft_mutex_lock(&bucket.mutex);
  LockWaiter* const next = take_waiter(bucket, &word);
  const bool handed = next != nullptr && next->missed >= kPatience;
  Word after = 0;
  if (handed) {
    next->handed = true;
    after = static_cast<Word>(next->mine) | (has_waiter(bucket, &word) ? kMark : 0);
  }
  word.store(after, std::memory_order_release);  // pairs with the acquire of whoever takes it
  weft_mutex_unlock(&bucket.mutex);
  if (next != nullptr) weft_event_set(&next->woken);
}

// Who tries may do so until it succeeds, and the holder wait for this very worker.
void let_holder_run() {
  if (front::others_waiting() != 0) weft_yield();
}

template <typename Word>
void release(std::atomic<Word>& word, Word mine) {
  // Release, pairs with the acquire of whoever has it next.
  if (!word.compare_exchange_strong(mine, 0, std::memory_order_release, std::memory_order_relaxed)) release_slowly(word);
}

// ---- nestable: count | the owner's address >> 3 | marks

constexpr int kOwnerShift = 2, kCountShift = 47;
constexpr uint64_t kOne = uint64_t{1} << kCountShift;
constexpr uint64_t kOwner = kOne - 1 - kLocked - kMark;

uint64_t caller() { return reinterpret_cast<uintptr_t>(this_member().task) >> 3 << kOwnerShift; }
int count_of(uint64_t word) { return static_cast<int>(word >> kCountShift); }

// The word as it is, if the lock is the caller's: then nobody else changes more of it than the mark.
bool is_callers(uint64_t seen, uint64_t owner) { return seen != 0 && (seen & kOwner) == owner; }

}  // namespace

alignas(64) constinit Lock nameless_lock{};
alignas(64) constinit Lock atomic_lock{};

void lock_acquire_slowly(Lock& lock) { acquire_slowly(lock.word, kLocked); }

void lock_release_slowly(Lock& lock) { release_slowly(lock.word); }

bool lock_try(Lock& lock) {
  if (lock.word.load(std::memory_order_relaxed) == 0 && take_free(lock.word, kLocked)) return true;
  let_holder_run();
  return false;
}

int nest_acquire(NestLock& lock) {
  const uint64_t owner = caller();
  if (is_callers(lock.word.load(std::memory_order_relaxed), owner))
    return count_of(lock.word.fetch_add(kOne, std::memory_order_relaxed)) + 1;
  const uint64_t mine = kOne | owner | kLocked;
  if (!take_free(lock.word, mine)) acquire_slowly(lock.word, mine);
  return 1;
}

int nest_try(NestLock& lock) {
  const uint64_t owner = caller();
  const uint64_t seen = lock.word.load(std::memory_order_relaxed);
  if (is_callers(seen, owner)) return count_of(lock.word.fetch_add(kOne, std::memory_order_relaxed)) + 1;
  if (seen == 0 && take_free(lock.word, kOne | owner | kLocked)) return 1;
  let_holder_run();
  return 0;
}

int nest_release(NestLock& lock) {
  const uint64_t seen = lock.word.load(std::memory_order_relaxed);
  if (count_of(seen) > 1) return count_of(lock.word.fetch_sub(kOne, std::memory_order_relaxed)) - 1;
  release(lock.word, seen & ~uint64_t{kMark});
  return 0;
}

}  // namespace weft::omp
