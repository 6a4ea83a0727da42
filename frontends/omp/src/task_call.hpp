// task_call.hpp: tasks that are nothing but a call, which is made at once.
//
// Each ends before its parent goes on; so the parent counts it only if it leaves descendants behind. Otherwise its descriptor stays
// with the parent (Task::called), for the next call: only what may differ is written then. A recursion leaves a chain, as long as it
// was deep, which is freed with the task at its beginning; an implicit task's with its team.
#pragma once

#include "memory.hpp"
#include "task_end.hpp"
#include "team.hpp"
#include "tool.hpp"

namespace weft::omp {

// A descriptor for them, with what is so for as long as the parent, the member's task, lives.
Task* task_for_calls(Member& member, size_t bytes);
// What the next one has of the parent.
inline void inherit(Task& task, const Task& parent, uint16_t flags) {
  TaskGroup* group = parent.group;
  task.home_group = group;
  task.group = group;
  task.icvs = parent.icvs;
  task.flags = static_cast<uint16_t>(flags | task_flag::kNoCancel | task_flag::kUndeferred | (parent.flags & task_flag::kFinal));
}

// The call has returned. False: nothing is left of it, and its descriptor may be the next one's. True: its parent counts it, and it is
// freed when all has ended.
bool call_leaves(Member& member, Task* task);
inline bool call_leaves_any(Member& member, Task* task) {
  // Nothing has ever come of it.
  const uint64_t any = reinterpret_cast<uintptr_t>(task->dependences) | reinterpret_cast<uintptr_t>(task->icvs_own) | task->deep |
                       static_cast<uint64_t>(task->elsewhere.load(std::memory_order_acquire));
  return __builtin_expect(any != 0, 0) && call_leaves(member, task);
}

// With a tool.
void call_seen(Member& member, Task& task, void (*body)(void*), void* arg);

// A new task that is nothing but a call, which is made at once. Flags: kUntied, kMergeable, kFinal.
inline void task_call(Member& member, uint16_t flags, void (*body)(void*), void* arg) {
  Task* parent = member.task;
  Task* task = parent->called;
  if (__builtin_expect(task == nullptr, 0)) task = parent->called = task_for_calls(member, sizeof(Task));
  inherit(*task, *parent, flags);
  member.thread->stats.add(Stat::kTasksCalled);
  if (tool::there()) {
    call_seen(member, *task, body, arg);
  } else {
    member.task = task;
    body(arg);
    member.task = parent;
  }
  if (call_leaves_any(member, task)) parent->called = nullptr;
}

// The same in steps, for who writes arguments into the payload: until it is called the descriptor is the writer's, who may make
// other tasks meanwhile. task_best_at_once() has said so. Without a tool, and for payloads of which malloc() need not have the memory
// back soon.
inline constexpr size_t kMostCallPayload = (size_t{64} << (kBlockClasses - 1)) - sizeof(Task);
inline Task* call_prepare(Member& member, uint16_t flags, size_t payload_bytes) {
  const size_t bytes = sizeof(Task) + payload_bytes;
  Task* parent = member.task;
  Task* task = parent->called;
  if (__builtin_expect(task != nullptr && task->bytes >= bytes, 1)) {
    parent->called = nullptr;
  } else {
    task = task_for_calls(member, bytes);
  }
  inherit(*task, *parent, flags | task_flag::kAsked | task_flag::kAtOnce);
  return task;
}
inline bool is_prepared_call(const Task* task) { return (task->flags & task_flag::kAtOnce) != 0; }
// The parent has it back, whether it is called or not. In place of another's, that was made in between.
inline void call_keep(Member& member, Task* task) {
  Task* parent = member.task;
  if (__builtin_expect(parent->called != nullptr, 0)) calls_release(member.thread, *parent);
  parent->called = task;
}
// The caller does it, between these two.
inline void call_begin(Member& member, Task* task) {
  call_keep(member, task);
  member.thread->stats.add(Stat::kTasksCalled);
  member.task = task;
}
inline void call_end(Member& member, Task* task) {
  Task* parent = task->parent;
  member.task = parent;
  if (call_leaves_any(member, task)) parent->called = nullptr;
}
// It is to be a task like others, which is started as those are.
void call_becomes_task(Member& member, Task* task, void (*run)(Task* task));

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
    if (call_leaves_any(member_, task_)) task_ = nullptr;
  }

 private:
  Member& member_;
  const size_t bytes_;
  const uint16_t flags_;
  uint64_t calls_ = 0;
  Task* task_ = nullptr;
};

}  // namespace weft::omp
