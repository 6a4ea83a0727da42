// task_call.hpp: tasks that are nothing but a call, which is made at once.
//
// Each ends before its parent goes on; so the parent counts it only if it leaves descendants behind. Otherwise its descriptor stays
// with the parent (Task::called), for the next call: only what may differ is written then. A recursion leaves a chain, as long as it
// was deep, which is freed with the task at its beginning; an implicit task's with its team.
#pragma once

#include "memory.hpp"
#include "task_end.hpp"
#include "team.hpp"

namespace weft::omp {

// What is so for as long as the parent lives.
inline Task* task_for_calls(Member& member, size_t bytes) {
  Task* task = new (block_acquire(*member.thread, bytes)) Task;
  task->parent = member.task;
  task->bytes = static_cast<uint32_t>(bytes);
  task->member = &member;
  return task;
}

// And what the next one has of the parent.
inline void inherit(Task& task, const Task& parent, uint16_t flags) {
  TaskGroup* group = parent.group;
  task.home_group = group;
  task.group = group;
  task.icvs = parent.icvs;
  task.flags = static_cast<uint16_t>(flags | task_flag::kNoCancel | task_flag::kUndeferred | (parent.flags & task_flag::kFinal));
}

// The call has returned. True: nothing is left of it, and its descriptor may be the next one's. False: its parent counts it, and
// it is freed when all has ended.
inline bool call_has_ended(Member& member, Task* task) {
  const bool simple = task->dependences == nullptr && task->icvs_own == nullptr;
  // Acquire, pairs with the additions in task_end.cpp.
  if (__builtin_expect(simple && tasks_are_done(*task), 1)) {
    settle(*task);  // children that others have run
    return true;
  }
  count_child(*task->parent);
  task_finish(*member.thread, task);
  return false;
}

// One after the other, in the same descriptor for as long as nothing is left of the one before. Without a tool.
class TaskCalls {
 public:
  // `bytes`: of a payload.
  TaskCalls(Member& member, uint16_t flags, size_t bytes) : member_(member), bytes_(sizeof(Task) + bytes), flags_(flags) {}
  ~TaskCalls() {
    member_.thread->stats.add(Stat::kTasksCalled, calls_);
    if (task_ != nullptr) block_release(member_.thread, task_, bytes_);
  }
  TaskCalls(const TaskCalls&) = delete;
  TaskCalls& operator=(const TaskCalls&) = delete;

  // The next one, to be written.
  Task* next() {
    if (task_ == nullptr) task_ = task_for_calls(member_, bytes_);
    inherit(*task_, *member_.task, flags_);
    return task_;
  }
  // Calls it.
  void call(void (*run)(Task* task)) {
    ++calls_;
    Task* parent = member_.task;
    member_.task = task_;
    run(task_);
    member_.task = parent;
    if (!call_has_ended(member_, task_)) task_ = nullptr;
  }

 private:
  Member& member_;
  const size_t bytes_;
  const uint16_t flags_;
  uint64_t calls_ = 0;
  Task* task_ = nullptr;
};

}  // namespace weft::omp
