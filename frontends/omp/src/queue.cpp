#include "queue.hpp"

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstdlib>
#include <cstring>
#include <new>

#include "icvs.hpp"
#include "memory.hpp"
#include "wait.hpp"

namespace weft::omp {

struct alignas(64) Ring {
  Ring* before;  // a smaller one: thieves may be reading there
  uint32_t mask;
  Task** places() { return reinterpret_cast<Task**>(this + 1); }
};

namespace {

// A thief may read a place that the owner writes at the same time: it finds then that the place is not its own.
Task* place_load(Ring& ring, uint32_t i) { return __atomic_load_n(&ring.places()[i & ring.mask], __ATOMIC_RELAXED); }
void place_store(Ring& ring, uint32_t i, Task* task) {
  __atomic_store_n(&ring.places()[i & ring.mask], task, __ATOMIC_RELAXED);
}

// Null: there is no memory.
Ring* ring_create(uint32_t size, Ring* before) {
  const size_t bytes = sizeof(Ring) + size * sizeof(Task*);
  void* memory = std::aligned_alloc(alignof(Ring), bytes);
  if (memory == nullptr) return nullptr;
  std::memset(memory, 0, bytes);
  return new (memory) Ring{before, size - 1};
}

[[gnu::noinline]] Ring* queue_open(Queue& queue) {
  Ring* ring = ring_create(queue.size, nullptr);
  if (ring == nullptr) block_from_system(SIZE_MAX / 2);  // says so, and ends
  queue.ring.store(ring, std::memory_order_release);
  return ring;
}

// False: it is as large as it is to be.
[[gnu::noinline]] bool queue_grow(Queue& queue, uint32_t head, uint32_t tail, int n) {
  const uint32_t wanted = std::min(64 * std::bit_ceil(static_cast<uint32_t>(n)), Queue::kMostSize);
  if (wanted <= queue.size) return false;
  Ring* old = queue.ring.load(std::memory_order_relaxed);
  Ring* ring = ring_create(wanted, old);
  if (ring == nullptr) return false;
  for (uint32_t i = head; i != tail; ++i) place_store(*ring, i, place_load(*old, i));
  // Release, pairs with the thieves' acquire: what is in it. In the old one nothing is written any more: who has read that finds there
  // all that it may take.
  queue.ring.store(ring, std::memory_order_release);
  queue.size = wanted;
  return true;
}

}  // namespace

// Thieves write the head all the time, and each look at it costs them as much as us. Until half of what is there can have been taken
// while this member runs one task after the other, it is not looked at again, unless somebody has looked for tasks in vain.
bool queue_is_full_slow(Member& member, uint32_t tail) {
  Queue& queue = member.queue;
  Team& team = *member.team;
  if (queue.full_for != 0 && !team.hungry.load(std::memory_order_relaxed)) {
    --queue.full_for;
    return true;
  }
  if (team.hungry.load(std::memory_order_relaxed)) team.hungry.store(false, std::memory_order_relaxed);
  // Acquire, pairs with the thieves' step: they have read the place.
  queue.head_was = queue.head.load(std::memory_order_acquire);
  const bool full = tail - queue.head_was >= queue.size && !queue_grow(queue, queue.head_was, tail, team.n);
  if (full) queue.full_for = queue.size / 2 / static_cast<uint32_t>(team.n);
  return full;
}

bool descends_from(const Task* task, const Task* ancestor) {
  for (const Task* t = task->parent; t != nullptr; t = t->parent) {
    if (t == ancestor) return true;
    if ((task_flags(*t) & task_flag::kImplicit) != 0) return false;
  }
  return false;
}

bool queue_push(Member& member, Task* task) {
  Queue& queue = member.queue;
  if (queue_is_full(member)) return false;
  Ring* ring = queue.ring.load(std::memory_order_relaxed);
  if (__builtin_expect(ring == nullptr, 0)) ring = queue_open(queue);
  const uint32_t tail = queue.tail.load(std::memory_order_relaxed);
  place_store(*ring, tail, task);
  Team& team = *member.team;
  if (__builtin_expect(!team.has_tasks.load(std::memory_order_relaxed), 0)) {
    team.has_tasks.store(true, std::memory_order_seq_cst);  // W1: from here on sleepers pay for the fence
  }
  // Release: the task. W1 of wait.hpp; W2 is done by those who go to sleep, with a membarrier(), or here.
  queue.tail.store(tail + 1, std::memory_order_release);
  if (team.pushers_fence.load(std::memory_order_relaxed)) {
    std::atomic_thread_fence(std::memory_order_seq_cst);
  } else {
    std::atomic_signal_fence(std::memory_order_seq_cst);
  }
  if (__builtin_expect(team.parked.load(std::memory_order_relaxed) != 0, 0) && team.n > 1) wake_for_task(member, tail);
  return true;
}

Task* queue_pop(Member& member, bool descendants_only) {
  Queue& queue = member.queue;
  const uint32_t tail = queue.tail.load(std::memory_order_relaxed);
  if (tail == queue.head.load(std::memory_order_relaxed)) {
    if (queue.full_for != 0) queue.full_for = 0;  // it has been full, and thieves have emptied it
    return nullptr;
  }
  // Either a thief sees this, or we see its step.
  queue.tail.exchange(tail - 1, std::memory_order_seq_cst);
  uint32_t head = queue.head.load(std::memory_order_seq_cst);
  const auto left = static_cast<int32_t>(tail - 1 - head);
  if (__builtin_expect(left <= 0, 0)) {
    // The last one, which a thief may want too; or it was, and is a thief's.
    const bool mine = left == 0 && queue.head.compare_exchange_strong(head, head + 1, std::memory_order_seq_cst);
    queue.tail.store(tail, std::memory_order_release);
    if (!mine) return nullptr;
  }
  Task* task = place_load(*queue.ring.load(std::memory_order_relaxed), tail - 1);
  if (!descendants_only || task->parent == member.task || descends_from(task, member.task)) return task;
  // It is put back: where it was, or as the only one.
  if (left > 0) {
    queue.tail.store(tail, std::memory_order_release);
  } else {
    queue_push(member, task);
  }
  return nullptr;
}

Task* queue_steal(Queue& queue, int thief) {
  while (true) {
    uint32_t head = queue.head.load(std::memory_order_seq_cst);
    // Acquire, pairs with the push: the task.
    if (static_cast<int32_t>(queue.tail.load(std::memory_order_seq_cst) - head) <= 0) return nullptr;
    Ring& ring = *queue.ring.load(std::memory_order_acquire);
    Task* task = place_load(ring, head);
    const Task* ahead = place_load(ring, head + 1);
    // If it is somebody else's already it is not looked at.
    if (queue.head.compare_exchange_strong(head, head + 1, std::memory_order_seq_cst)) {
      queue.thieves[head % Queue::kThieves].store(static_cast<uint32_t>(thief) + 1, std::memory_order_relaxed);
      // The next one comes while this one runs. There may be none, and a task there that has been.
      if (ahead != nullptr) prefetch_task(ahead);
      return task;
    }
  }
}

void inbox_push(Queue& queue, Task* task) {
  const Locked hold(queue.inbox_lock);
  task->next = nullptr;
  (queue.inbox == nullptr ? queue.inbox : queue.inbox_last->next) = task;
  queue.inbox_last = task;
  queue.inbox_count.fetch_add(1, std::memory_order_seq_cst);  // W2 of wait.hpp
}

void queue_forget_thief(Queue& queue, int thief) {
  for (std::atomic<uint32_t>& one : queue.thieves) {
    if (static_cast<int>(one.load(std::memory_order_relaxed)) == thief + 1) one.store(0, std::memory_order_relaxed);
  }
}

Task* inbox_pop(Member& home, const Task* ancestor, int taker) {
  Queue& queue = home.queue;
  if (queue.inbox_count.load(std::memory_order_relaxed) == 0) return nullptr;
  const Locked hold(queue.inbox_lock);
  Task* before = nullptr;
  for (Task** place = &queue.inbox; *place != nullptr; before = *place, place = &before->next) {
    Task* task = *place;
    if (ancestor != nullptr && !descends_from(task, ancestor)) continue;
    *place = task->next;
    if (queue.inbox_last == task) queue.inbox_last = before;
    queue.inbox_count.fetch_sub(1, std::memory_order_relaxed);
    if (taker != home.num) {
      // Among those of the ring, half a turn ahead of the next one.
      const uint32_t place = queue.head.load(std::memory_order_relaxed) + Queue::kThieves / 2;
      queue.thieves[place % Queue::kThieves].store(static_cast<uint32_t>(taker) + 1, std::memory_order_relaxed);
    }
    return task;
  }
  return nullptr;
}

bool inbox_has(Queue& queue, const Task* ancestor) {
  if (queue.inbox_count.load(std::memory_order_seq_cst) == 0) return false;
  const Locked hold(queue.inbox_lock);
  for (const Task* task = queue.inbox; task != nullptr; task = task->next) {
    if (descends_from(task, ancestor)) return true;
  }
  return false;
}

void queue_destroy(Queue& queue) {
  for (Ring *ring = queue.ring.exchange(nullptr, std::memory_order_relaxed), *before; ring != nullptr; ring = before) {
    before = ring->before;
    std::free(ring);
  }
  queue.size = Queue::kFirstSize;
}

}  // namespace weft::omp
