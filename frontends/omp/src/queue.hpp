// queue.hpp: a member's tasks.
//
// A ring in which the owner pushes and pops at the tail, and others take at the head (D. Chase, Y. Lev: Dynamic circular
// work-stealing deque, SPAA 2005). All of it can be taken by others at any time: a thread that makes tasks and
// then spins for what they do has to be helped. A pop costs one locked instruction, a push none: whoever goes to sleep pays for
// that (Parking in wait.cpp). Indices only grow (2^32 tasks until one is the same again).
//
// It holds 256 tasks, and 64 for each thread of the team if that is more, as in libgomp: there are programs, as PLASMA's, of which two
// tasks spin for each other, and what does not find a place runs at once, by its maker alone.
//
// Rejected: a part of the owner's own (a locked instruction for every few tasks; what is private nobody can run while the owner
// spins).
//
// The inbox is for tasks whose dependences others have met: by their own thread the owner's stack discipline is kept.
#pragma once

#include "team.hpp"

namespace weft::omp {

// Owner. The next push fails.
bool queue_is_full_slow(Member& member, uint32_t tail);
inline bool queue_is_full(Member& member) {
  const Queue& queue = member.queue;
  const uint32_t tail = queue.tail.load(std::memory_order_relaxed);
  return __builtin_expect(tail - queue.head_was >= queue.size, 0) && queue_is_full_slow(member, tail);
}
// Owner. False: it is full.
bool queue_push(Member& member, Task* task);
// Owner. The newest, if it may run: null: there is none, or the newest may not.
Task* queue_pop(Member& member, bool descendants_only);
// Owner. False: nothing can be popped.
inline bool queue_is_busy(const Member& member) {
  const Queue& queue = member.queue;
  return queue.tail.load(std::memory_order_relaxed) != queue.head.load(std::memory_order_relaxed);
}
// Anybody. The oldest, for member number `thief`.
Task* queue_steal(Queue& queue, int thief);
// Who has taken the newest of those that are gone, or one of so many before it: a number of a member; negative: nobody knows.
inline int queue_thief(const Queue& queue, uint32_t before) {
  const uint32_t newest = queue.tail.load(std::memory_order_relaxed) - 1;
  return static_cast<int>(queue.thieves[(newest - before) % Queue::kThieves].load(std::memory_order_relaxed)) - 1;
}
// That one has come to something else.
void queue_forget_thief(Queue& queue, int thief);
inline bool queue_has_tasks(const Queue& queue) {
  const uint32_t head = queue.head.load(std::memory_order_seq_cst);
  return static_cast<int32_t>(queue.tail.load(std::memory_order_seq_cst) - head) > 0;
}

// Anybody.
void inbox_push(Queue& queue, Task* task);
// The oldest that descends from `ancestor`; null: any. `taker`: the member whom it is for.
Task* inbox_pop(Member& home, const Task* ancestor, int taker);
// Whether that would find one that descends from it.
bool inbox_has(Queue& queue, const Task* ancestor);

bool descends_from(const Task* task, const Task* ancestor);

}  // namespace weft::omp
