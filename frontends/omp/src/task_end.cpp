#include "task_end.hpp"

#include <signal.h>
#include <sys/syscall.h>

#include <atomic>
#include <utility>

#include "arch/system_call.hpp"
#include "depend.hpp"
#include "front/front.hpp"
#include "icvs.hpp"
#include "memory.hpp"
#include "queue.hpp"
#include "wait.hpp"
#include "weft/weft.h"

namespace weft::omp {

namespace {

void task_free(Thread* thread, Task* task) {
  calls_release(thread, *task);
  if (task->drop != nullptr) task->drop(task);
  if (__builtin_expect(task->dependences != nullptr, 0)) dependences_destroy(thread, task->dependences);
  if (__builtin_expect(task->node != nullptr, 0)) node_release(thread, task->node);
  if (__builtin_expect(task->icvs_own != nullptr, 0)) icvs_release(*task);
  block_release(thread, task, task->bytes);
}

bool is_counted_by(const Thread* thread, const Task& parent) {
  return parent.member->thread == thread && (parent.flags & task_flag::kEnded) == 0;
}

// Of the parent's children `what` have ended elsewhere. True: the last that an ended parent has waited for: that is freed now.
bool ended_elsewhere(Task* parent, int64_t what) {
  Thread* waits = parent->member->thread;  // afterwards the parent may be gone
  // Release: what the children did. seq_cst: W2 of wait.hpp.
  const int64_t before = parent->elsewhere.fetch_add(what, std::memory_order_seq_cst);
  if (what >= kDeep && deep_of(before) == -deep_of(what)) return true;
  wake(*waits);
  return false;
}

// `what` of a child of the parent's has ended. True: as above.
bool child_ended(Thread* thread, Task* parent, int64_t what) {
  if (!is_counted_by(thread, *parent)) return ended_elsewhere(parent, what);
  if ((what & 0xffffffff) != 0) --parent->children;
  if (what >= kDeep) --parent->deep;
  return false;
}

void leave_group_elsewhere(TaskGroup* group, uint32_t tasks) {
  Thread* owner = group->owner->member->thread;
  group->elsewhere.fetch_add(tasks, std::memory_order_seq_cst);  // as above
  wake(*owner);
}

void leave_group(Thread* thread, const Task* task) {
  TaskGroup* group = counted_in(*task);
  if (group == nullptr) return;
  if (group->owner->member->thread == thread) {
    --group->deep;
  } else {
    leave_group_elsewhere(group, 1);
  }
}

void all_ended(Thread* thread, Task* task, int64_t what);

// Whether the task's end can wait, with those of others of its parent's and group's, to be told at once.
bool keep_end(Thread* thread, const Task& task) {
  if (thread == nullptr) return false;
  Untold& untold = thread->untold;
  TaskGroup* group = counted_in(task);
  if (untold.ends == 0 || untold.parent != task.parent || untold.group != group) {
    if (is_counted_by(thread, *task.parent)) return false;
    if (untold.ends != 0) tell_ends(*thread);
    untold.parent = task.parent;
    untold.group = group;
  }
  ++untold.ends;
  return true;
}

// It has ended, with all its descendants. `what`: what its parent has not been told yet.
void all_ended(Thread* thread, Task* task, int64_t what) {
  while (true) {
    Task* parent = task->parent;
    if (what == kShallow + kDeep && keep_end(thread, *task)) {
      task_free(thread, task);
      return;
    }
    leave_group(thread, task);
    task_free(thread, task);
    if (!child_ended(thread, parent, what)) return;
    task = parent;
    what = kDeep;
  }
}

// thread: null: none of OpenMP's. The parent is told that the body has ended while the task still counts there: once others may
// be the last to end below it, the task and all that it descends from may be gone.
void ended(Thread* thread, Task* task, bool by_itself) {
  if (task->node != nullptr) dependences_met(thread, task->node);
  if (thread != nullptr) thread->runs_next = false;  // from here on the program's destructors may run others
  if (!by_itself) {
    // Another thread's children may end meanwhile: `deep` was added when its body ended, with one for the event.
    child_ended(thread, task->parent, kShallow);
    const int64_t before = task->elsewhere.fetch_add(kDeep, std::memory_order_acq_rel);
    if (deep_of(before) == -1) all_ended(thread, task, kDeep);
    return;
  }
  if (__builtin_expect(task->deep == 0 && task->elsewhere.load(std::memory_order_acquire) < kDeep, 1)) {
    all_ended(thread, task, kShallow + kDeep);
    return;
  }
  child_ended(thread, task->parent, kShallow);
  task_flags_set(*task, task->flags | task_flag::kEnded);
  const int64_t owed = static_cast<int64_t>(task->deep) * kDeep;
  const int64_t before = task->elsewhere.fetch_sub(owed, std::memory_order_acq_rel);
  if (deep_of(before - owed) == 0) all_ended(thread, task, kDeep);
}

}  // namespace

void tell_ends(Thread& thread) {
  const Untold untold = std::exchange(thread.untold, {});
  if (untold.group != nullptr) leave_group_elsewhere(untold.group, untold.ends);
  if (ended_elsewhere(untold.parent, untold.ends * (kShallow + kDeep))) all_ended(&thread, untold.parent, kDeep);
}

void calls_release(Thread* thread, Task& parent) {
  Task* task = std::exchange(parent.called, nullptr);
  while (task != nullptr) {
    Task* next = task->called;
    block_release(thread, task, task->bytes);
    task = next;
  }
}

void settle_slow(Task& task, int64_t all) {
  task.elsewhere.fetch_sub(all, std::memory_order_relaxed);
  task.children -= shallow_of(all);
  task.deep -= static_cast<uint32_t>(deep_of(all));
}

void task_finish_slow(Thread& thread, Task* task) {
  if (__builtin_expect((task->flags & task_flag::kDetachable) == 0, 1)) {
    ended(&thread, task, true);
    return;
  }
  // The event counts as a child that has not ended.
  task_flags_set(*task, task->flags | task_flag::kEnded);
  task->elsewhere.fetch_sub((static_cast<int64_t>(task->deep) + 1) * kDeep, std::memory_order_acq_rel);
  if ((task->event.fetch_or(kEventEnded, std::memory_order_acq_rel) & kEventFulfilled) != 0) ended(&thread, task, false);
}

// What signal handlers have fulfilled: there nothing can be resumed, where Weft was interrupted, and nothing be ended, where OpenMP or
// malloc() was. Whoever comes by does it: a worker by its bell, a thread that looks, for as long as it looks. A worker has a ULT do it: a lock of
// malloc's or of a queue may be in the hands of one that was preempted, and waits for this worker. Its scheduler would wait for that one for ever.
namespace {

// Every handler blocks its own signal, but for SA_NODEFER. So do others block some, who wait a little longer then.
bool may_be_in_handler() {
  if (front::interrupts_section()) return true;
  uint64_t blocked = 0;
  rt::system_call(SYS_rt_sigprocmask, SIG_BLOCK, 0, reinterpret_cast<long>(&blocked), sizeof blocked);
  return blocked != 0;
}

std::atomic<Task*> fulfilled_late{nullptr};
std::atomic<bool> somebody_comes{false};  // the ULT has not begun to look

void fulfill(Task* task) {
  Thread* thread = this_thread_if_any();
  Thread* waits = task->parent->member->thread;  // undeferred: it is waited for, where it was made
  const ompt_data_t seen = task->seen.data;      // afterwards it may be gone
  const uint32_t before = task->event.fetch_or(kEventFulfilled, std::memory_order_seq_cst);
  if (tool::there()) tool::event_fulfilled(seen, before);
  if ((before & kEventEnded) != 0) {
    ended(thread, task, false);
  } else {
    wake(*waits);
  }
}

}  // namespace

void fulfill_late() {
  if (__builtin_expect(fulfilled_late.load(std::memory_order_relaxed) == nullptr, 1)) return;
  // Acquire, pairs with the release below: the handler's stores.
  Task* task = fulfilled_late.exchange(nullptr, std::memory_order_acquire);
  while (task != nullptr) fulfill(std::exchange(task, task->late));  // afterwards it may be gone
}

namespace {

void fulfill_late_in_ult(void*) {
  // Acquire, pairs with the exchanges of those who have seen that we come: we see the tasks that they have seen.
  somebody_comes.exchange(false, std::memory_order_acquire);
  fulfill_late();
}

// A scheduler's.
void answer_bell() {
  if (fulfilled_late.load(std::memory_order_acquire) == nullptr || somebody_comes.exchange(true, std::memory_order_release)) return;
  if (weft_ult_create(fulfill_late_in_ult, nullptr, nullptr, nullptr) == WEFT_OK) return;
  somebody_comes.store(false, std::memory_order_relaxed);
  fulfill_late();  // no memory
}

}  // namespace

void late_events_forget() { somebody_comes.store(false, std::memory_order_relaxed); }

void event_fulfill(Task* task) {
  if (__builtin_expect(!may_be_in_handler(), 1)) {
    fulfill(task);
    return;
  }
  task->late = fulfilled_late.load(std::memory_order_relaxed);
  while (!fulfilled_late.compare_exchange_weak(task->late, task, std::memory_order_release, std::memory_order_relaxed)) {
  }
  front::set_lasting_bell(&answer_bell);
  front::ring_bell();
}

void task_is_ready(Thread* caller, Task* task) {
  Member& home = *task->parent->member;
  Team& team = *home.team;
  if (task->run == nullptr) {  // an empty task: nothing of it but its dependences
    if (tool::there()) tool::waiting_task_ends(task->seen.data);
    ended(caller, task, true);
    return;
  }
  if (caller != nullptr && caller->runs_next) {
    caller->runs_next = false;
    caller->next = task;
    return;
  }
  team.has_tasks.store(true, std::memory_order_relaxed);
  inbox_push(home.queue, task);
  if (home.thread != caller) wake(*home.thread);
  if (team.parked.load(std::memory_order_seq_cst) != 0) wake_one(team, home);
}

}  // namespace weft::omp
