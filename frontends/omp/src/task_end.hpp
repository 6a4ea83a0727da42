// task_end.hpp: how tasks are counted; what is done when one ends. See task.hpp, "Counting".
#pragma once

#include "memory.hpp"
#include "team.hpp"

namespace weft::omp {

// Task::elsewhere: direct children that have ended on other threads in the lower half; with all their descendants in the upper
// half, from which at the task's own end those are subtracted that have not: it is negative from then on, until the last.
inline constexpr int64_t kShallow = 1;
inline constexpr int64_t kDeep = int64_t{1} << 32;
constexpr uint32_t shallow_of(int64_t elsewhere) { return static_cast<uint32_t>(elsewhere); }
constexpr int32_t deep_of(int64_t elsewhere) { return static_cast<int32_t>(elsewhere >> 32); }

// Task::event.
inline constexpr uint32_t kEventEnded = 1;  // the body has
inline constexpr uint32_t kEventFulfilled = 2;
inline constexpr uint32_t kEventTold = 4;  // a tool has been told that the body has ended

inline bool children_have_ended(const Task& task) {
  // Acquire, pairs with the additions in task_end.cpp: what the children did.
  return task.children == shallow_of(task.elsewhere.load(std::memory_order_acquire));
}
// Its children that have not ended with all their descendants.
inline int32_t tasks_left(const Task& task) {
  return static_cast<int32_t>(task.deep) - deep_of(task.elsewhere.load(std::memory_order_acquire));
}
inline bool tasks_are_done(const Task& task) { return tasks_left(task) == 0; }
inline bool group_is_done(const TaskGroup& group) {
  return group.deep == group.elsewhere.load(std::memory_order_acquire);
}

// Brings the numbers of a task that waits, and has nobody to wait for, back to 0.
void settle(Task& task);

// The task's body has ended, or it is dropped: whoever waits for it is told, now or when its event is fulfilled, or its
// descendants have ended. Thread: that it ran on, the caller.
void task_finish_slow(Thread& thread, Task* task);
inline void task_finish(Thread& thread, Task* task) {
  // It has nothing but its memory, no descendants, and a parent whose thread this is.
  const bool bare = task->node == nullptr && task->drop == nullptr && task->dependences == nullptr && task->icvs_own == nullptr &&
                    task->home_group == nullptr && (task->flags & task_flag::kDetachable) == 0;
  Task& parent = *task->parent;
  if (bare && task->deep == 0 && task->elsewhere.load(std::memory_order_acquire) < kDeep && parent.member->thread == &thread &&
      (parent.flags & task_flag::kEnded) == 0) {
    --parent.children;
    --parent.deep;
    block_release(&thread, task, task->bytes);
    return;
  }
  task_finish_slow(thread, task);
}

// Does what signal handlers have left to be done. Context: a thread of a team's, or a scheduler.
void fulfill_late();

// A task of whose dependences none is left goes where it will be found. depend.cpp calls it.
void task_is_ready(Thread* caller, Task* task);

// The body's call, on the member's stack, with what belongs to it.
void task_execute(Member& member, Task* task);

}  // namespace weft::omp
