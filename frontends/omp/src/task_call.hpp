// task_call.hpp: tasks that are nothing but a call, which is made at once.
//
// Each ends before its parent goes on; so the parent counts it only if it leaves descendants behind.
#pragma once

#include "memory.hpp"
#include "task_end.hpp"
#include "team.hpp"

namespace weft::omp {

inline Task* task_for_call(Member& member, uint16_t flags, size_t bytes) {
  Task* parent = member.task;
  Task* task = new (block_acquire(*member.thread, bytes)) Task;
  task->parent = parent;
  task->home_group = parent->group;
  task->group = parent->group;
  task->bytes = static_cast<uint32_t>(bytes);
  task->flags = flags | task_flag::kNoCancel | task_flag::kUndeferred;
  if ((parent->flags & task_flag::kFinal) != 0) task->flags |= task_flag::kFinal;
  task->member = &member;
  task->icvs = parent->icvs;
  return task;
}

// The call has returned. True: nothing is left of it. False: its parent counts it, and it is freed when all has ended.
inline bool call_has_ended(Member& member, Task* task) {
  const bool simple = task->dependences == nullptr && task->icvs_own == nullptr;
  // Acquire, pairs with the additions in task_end.cpp.
  if (__builtin_expect(simple && tasks_are_done(*task), 1)) return true;
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
    member_.thread->stats.add(Stat::kTasks, calls_);
    member_.thread->stats.add(Stat::kTasksAtOnce, calls_);
    if (task_ != nullptr) block_release(member_.thread, task_, bytes_);
  }
  TaskCalls(const TaskCalls&) = delete;
  TaskCalls& operator=(const TaskCalls&) = delete;

  // The next one, to be written.
  Task* next() {
    if (task_ == nullptr) task_ = task_for_call(member_, flags_, bytes_);
    return task_;
  }
  // Calls it.
  void call(void (*run)(Task* task)) {
    ++calls_;
    Task* parent = member_.task;
    member_.task = task_;
    run(task_);
    member_.task = parent;
    if (!call_has_ended(member_, task_)) {
      task_ = nullptr;
    } else {
      settle(*task_);  // children that others have run
    }
  }

 private:
  Member& member_;
  const size_t bytes_;
  const uint16_t flags_;
  uint64_t calls_ = 0;
  Task* task_ = nullptr;
};

}  // namespace weft::omp
