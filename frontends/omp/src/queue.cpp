#include "queue.hpp"

#include <atomic>
#include <cstdlib>

#include "icvs.hpp"
#include "memory.hpp"
#include "wait.hpp"

namespace weft::omp {

namespace {

// A thief may read a place that the owner writes at the same time: it finds then that the place is not its own.
Task* place_load(Queue& queue, uint32_t i) { return __atomic_load_n(&queue.ring[i % Queue::kSize], __ATOMIC_RELAXED); }
void place_store(Queue& queue, uint32_t i, Task* task) {
  __atomic_store_n(&queue.ring[i % Queue::kSize], task, __ATOMIC_RELAXED);
}

[[gnu::noinline]] void queue_open(Member& member) {
  static_assert(Queue::kSize * sizeof(Task*) <= 64u << (kBlockClasses - 1));
  member.queue.ring = static_cast<Task**>(std::calloc(Queue::kSize, sizeof(Task*)));
  if (member.queue.ring == nullptr) block_from_system(SIZE_MAX / 2);  // says so, and ends
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
  const bool full = tail - queue.head_was >= Queue::kSize;
  if (full) queue.full_for = Queue::kSize / 2 / static_cast<uint32_t>(member.team->n);
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
  if (__builtin_expect(queue.ring == nullptr, 0)) queue_open(member);
  if (queue_is_full(member)) return false;
  const uint32_t tail = queue.tail.load(std::memory_order_relaxed);
  place_store(queue, tail, task);
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
  Task* task = place_load(queue, tail - 1);
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
    Task* task = place_load(queue, head);
    const Task* ahead = place_load(queue, head + 1);
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
  std::free(queue.ring);
  queue.ring = nullptr;
}

}  // namespace weft::omp
