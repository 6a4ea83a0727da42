// task.hpp: explicit tasks.
//
// A task runs on the stack of a member's thread that has come to a scheduling point, under that member's number and identity,
// and stays there: tied or not, it resumes under the same member. A task that waits is waited in: what runs meanwhile runs above
// it on the same stack, and is a descendant of it (but in a barrier, where it is whatever the team has); so the task scheduling
// constraint holds, and stacks grow no deeper than tasks nest.
//
// Where a ready task waits: in the queue of the thread that made it, or, if it had to wait for others, in the inbox of that
// queue. So what a task waits for is found by its own thread, whatever others do: there is no deadlock by burying.
//
// Where tasks make tasks, a new one runs at once, at the cost of a call, if the last ones have been short and some wait already for
// whoever looks for one: the oldest, which are the largest where work is divided. Nobody is kept from work longer than by a short
// task. Not so what an implicit task makes: a thread that deals out work should not be kept from that.
//
// Counting. A task counts its children in two numbers: `children`, direct ones that have not ended (for taskwait), and `deep`,
// direct ones that have not ended *with all their descendants* (for barriers, and for when a descriptor is freed). What ends on
// the thread that runs the parent changes plain numbers; what ends elsewhere adds to `elsewhere`, both numbers in one word, for all
// that one thread has run of a parent's without a pause at once (tell_ends()).
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "arch/prefetch.hpp"
#include "icv.hpp"
#include "tool.hpp"
#include "yielding_lock.hpp"

namespace weft::omp {

struct DepNode;
struct DepTable;
struct Member;
struct Task;
struct Thread;

struct TaskGroup {
  TaskGroup* outer = nullptr;
  Task* owner = nullptr;
  uint32_t deep = 0;  // own: its tasks (owner's children) that have not ended with all their descendants
  std::atomic<uint32_t> elsewhere{0};  // of those, ended on other threads
  std::atomic<bool> cancelled{false};
  void* reductions = nullptr;  // an ABI layer's
  bool workshare = false;      // the GNU layer's: of a worksharing construct with task reductions, not the program's own
};

namespace task_flag {
inline constexpr uint16_t kImplicit = 1;
inline constexpr uint16_t kUntied = 2;
inline constexpr uint16_t kFinal = 4;      // its children are included tasks
inline constexpr uint16_t kMergeable = 8;
inline constexpr uint16_t kUndeferred = 16;
inline constexpr uint16_t kDetachable = 32;
inline constexpr uint16_t kAgain = 64;     // set while it runs: it shall run once more (untied parts of clang's)
inline constexpr uint16_t kEnded = 128;    // its body has ended, and it waits for descendants
inline constexpr uint16_t kAsked = 256;    // task_best_at_once() has been, for it; the answer:
inline constexpr uint16_t kAtOnce = 1024;
inline constexpr uint16_t kNoCancel = 512;  // it has begun: cancel taskgroup does not drop it
}  // namespace task_flag

// By cache lines: where one thread makes tasks and others run them, each line of a task goes from one to the other.
struct alignas(64) Task {
  // What others read, of their tasks' parent too. constant
  Task* parent = nullptr;
  TaskGroup* home_group = nullptr;  // the group that it was started in; null: none. Counted there if that is its parent's
  void (*run)(Task* task) = nullptr;   // the body; the ABI layer's
  void (*drop)(Task* task) = nullptr;  // before it is freed, also where it has not run; null: nothing
  uint32_t bytes = 0;              // of the whole
  uint16_t flags = 0;              // the thread that makes it, then the one that runs it
  int priority = 0;
  std::atomic<uint32_t> event{0};  // any thread. Detachable: kEventEnded, kEventFulfilled
  // the thread that runs it; before that, the one that makes it
  Member* member = nullptr;        // where it runs, or else its parent's
  const Icvs* icvs = nullptr;

  // What is written while its children come and go. The same threads
  alignas(64) Icvs* icvs_own = nullptr;  // what it has set itself; null: nothing
  TaskGroup* group = nullptr;      // innermost that it has begun itself, or home_group
  uint32_t children = 0;
  uint32_t deep = 0;
  DepTable* dependences = nullptr;  // of its children
  DepNode* node = nullptr;          // its own, among its siblings
  Task* next = nullptr;             // in a list that owns it
  Task* called = nullptr;           // of its last child that was nothing but a call: the descriptor, for the next one
  // any thread
  std::atomic<int64_t> elsewhere{0};

  // Most have no need of these: they are written when they are needed.
  alignas(64) Task* late;  // detachable: in the list of those that a signal handler has fulfilled
  TaskSeen seen;           // a tool's, where there is one
};
static_assert(sizeof(Task) == 192);

// While it runs others, who look whether something descends from it, ask whether it is implicit.
inline uint16_t task_flags(const Task& task) {
  return std::atomic_ref(const_cast<uint16_t&>(task.flags)).load(std::memory_order_relaxed);
}
inline void task_flags_set(Task& task, int flags) {
  std::atomic_ref(task.flags).store(static_cast<uint16_t>(flags), std::memory_order_relaxed);
}

// It is going to be written, or run: what is looked at comes. Any address.
inline void prefetch_task(const void* task) {
  const auto* line = static_cast<const char*>(task);
  rt::prefetch_own(line);
  rt::prefetch_own(line + 64);
  rt::prefetch_own(line + sizeof(Task));
}

// Behind the descriptor: the ABI layer's part.
inline void* payload(Task* task) { return task + 1; }
inline Task* task_of_payload(void* memory) { return static_cast<Task*>(memory) - 1; }

enum class DepKind : uint8_t { kIn = 1, kOut = 2, kMutexInOutSet = 4, kInOutSet = 5 };  // inout is kOut
struct Depend {
  const void* address;  // null: omp_all_memory
  DepKind kind;
};

struct TaskWish {
  void (*run)(Task* task) = nullptr;
  void (*drop)(Task* task) = nullptr;
  uint16_t flags = 0;    // kUntied, kFinal, kMergeable, kUndeferred, kDetachable
  int priority = 0;
};

// Makes a task, child of the member's current one, with a payload of so many bytes, which lies at a multiple of 64. It is then started
// by exactly one of the next three.
Task* task_create(Member& member, const TaskWish& wish, size_t bytes = 0);
// Starts it: it runs when its dependences allow, at once where it is undeferred or included, or where too many wait already.
void task_start(Member& member, Task* task);
void task_start(Member& member, Task* task, size_t n, const Depend* depends);
// The same where task_best_at_once() has been asked, and it is deferred, without a priority.
void task_defer(Member& member, Task* task);
// The caller runs the body itself, between these two: if(0) of clang's. task_begin() waits for the dependences.
void task_begin(Member& member, Task* task, size_t n = 0, const Depend* depends = nullptr);
void task_end(Member& member, Task* task);
// It will not be started at all: it ends.
void task_unused(Member& member, Task* task);
// Asked once for each new task that need not wait for anything: whether it had better run at once.
bool task_best_at_once(Member& member);
// It runs, and shall run once more after its body has returned.
void task_again(Member& member, Task* task);
// In between it may let others run: one that it has made, where nothing has to be searched for it.
void run_one_child(Member& member);

// Whether a new task would be an included one: its parent is final.
bool tasks_are_included(const Member& member);

void task_wait(Member& member);  // taskwait
// taskwait depend; `nowait`: an empty task instead.
void task_wait_depend(Member& member, size_t n, const Depend* depends, bool nowait = false);
void task_yield(Member& member);

void group_begin(Member& member, TaskGroup* group);  // in the caller's frame, or wherever it stays until the end
// Waits for all its tasks and their descendants. Returns the group.
TaskGroup* group_end(Member& member);
// cancel taskgroup: true: active. Tasks that have not begun are dropped.
bool cancel_group(Member& member);

// detach: the event is the task. Any thread, also one that is none of OpenMP's.
void event_fulfill(Task* task);

// The queue of a member: see queue.hpp.
struct Ring;
struct Queue {
  static constexpr uint32_t kFirstSize = 256, kMostSize = 16384;  // powers of two
  static constexpr uint32_t kThieves = 16;
  std::atomic<Ring*> ring{nullptr};       // own, read by all: made at the first push
  std::atomic<uint32_t> tail{0};          // own: behind the newest
  uint32_t size = kFirstSize;             // own: of the ring. A task that finds it full runs at once
  uint32_t head_was = 0;                  // own: head when it was looked at last
  uint32_t full_for = 0;                  // own: it has been full: for so many pushes it is not looked at again
  alignas(64) std::atomic<uint32_t> head{0};  // any: the oldest
  std::atomic<uint32_t> inbox_count{0};
  YieldingLock inbox_lock;
  Task* inbox = nullptr;
  Task* inbox_last = nullptr;  // of those in it
  // thieves: by the task's index, who has taken it: a member's number and one; 0: unknown. A hint.
  alignas(64) std::atomic<uint32_t> thieves[kThieves] = {};
};

}  // namespace weft::omp
