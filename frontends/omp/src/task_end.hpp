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
inline constexpr uint32_t kEventTelling = 4;  // a tool is being told that the body has ended
inline constexpr uint32_t kEventTold = 8;     // it has been, and that the task is detached

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

// The group that waits for it by itself; null: none, or the one that its parent is counted in.
inline TaskGroup* counted_in(const Task& task) {
  TaskGroup* group = task.home_group;
  return group != nullptr && group->owner == task.parent ? group : nullptr;
}

// Brings the numbers of a task that waits, and has nobody to wait for, back to 0.
void settle_slow(Task& task, int64_t elsewhere);
inline void settle(Task& task) {
  const int64_t all = task.elsewhere.load(std::memory_order_relaxed);
  if (all != 0) settle_slow(task, all);
}

// A new child of it.
inline constexpr uint32_t kSettleAfter = (1u << 24) - 1;  // children
inline void count_child(Task& parent) {
  // Before what has ended elsewhere, which is taken off here, fills its half of a word.
  if (__builtin_expect((parent.children & kSettleAfter) == kSettleAfter, 0)) settle(parent);
  ++parent.children;
  ++parent.deep;
  if (parent.group != nullptr && parent.group->owner == &parent) ++parent.group->deep;
}

// A task counts from when it is started: what the program does while it makes one, in constructors, may wait for its others.
inline void count_task(Task& task) {
  Task& parent = *task.parent;
  task.home_group = parent.group;
  task.group = parent.group;
  count_child(parent);
}

// Whether the innermost group, or a region around it, has been cancelled.
inline bool group_cancelled(const Member& member) {
  if (member.team->cancelled.load(std::memory_order_relaxed)) return true;
  const TaskGroup* group = member.task->group;
  return group != nullptr && group->cancelled.load(std::memory_order_relaxed);
}

// It has no more children: what it has kept for those that are nothing but a call.
void calls_release(Thread* thread, Task& parent);

// The task's body has ended, or it is dropped: whoever waits for it is told, now or when its event is fulfilled, or its
// descendants have ended. Thread: that it ran on, the caller.
void task_finish_slow(Thread& thread, Task* task);
inline void task_finish(Thread& thread, Task* task) {
  // It has nothing but its memory, no descendants, and a parent whose thread this is.
  const bool bare = task->node == nullptr && task->drop == nullptr && task->dependences == nullptr && task->icvs_own == nullptr &&
                    task->called == nullptr && task->home_group == nullptr && (task->flags & task_flag::kDetachable) == 0;
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

// Ends of tasks of other threads are told at once if they have the same parent and group: while this thread runs another one of those,
// nobody can go on who waits for them. So before it runs any other, or does anything else.
void tell_ends(Thread& thread);
// `next`: what it runs; null: it does something else.
inline void tell_ends_before(Thread& thread, const Task* next) {
  const Untold& untold = thread.untold;
  if (__builtin_expect(untold.ends == 0, 1)) return;
  if (next == nullptr || next->parent != untold.parent || counted_in(*next) != untold.group) tell_ends(thread);
}

// Does what signal handlers have left to be done. Context: ULT.
void fulfill_late();
// In a forked child.
void late_events_forget();

// A task of whose dependences none is left goes where it will be found. depend.cpp calls it.
void task_is_ready(Thread* caller, Task* task);

// The body's call, on the member's stack, with what belongs to it.
void task_execute(Member& member, Task* task);

}  // namespace weft::omp
