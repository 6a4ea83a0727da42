// tool_events.cpp: what a tool is told of the program's regions, tasks and waits.
#include <vector>

#include "task_end.hpp"
#include "team.hpp"
#include "tool_inside.hpp"
#include "workshare.hpp"

namespace weft::omp::tool {

namespace {

ThreadSeen& seen_of(const Member& member) { return member.thread->seen; }
ompt_data_t* data_of(Team& team) { return &team.seen.data; }
ompt_data_t* data_of(Task& task) { return &task.seen.data; }
const void* caller_of(const Member& member) { return seen_of(member).called_from; }

ompt_state_t working_in(const Member& member) {
  return member.team->level > 0 ? ompt_state_work_parallel : ompt_state_work_serial;
}

ompt_state_t state_of(ompt_sync_region_t kind) {
  switch (kind) {
    case ompt_sync_region_barrier_explicit: return ompt_state_wait_barrier_explicit;
    case ompt_sync_region_barrier_implicit_workshare: return ompt_state_wait_barrier_implicit_workshare;
    case ompt_sync_region_barrier_implicit_parallel: return ompt_state_wait_barrier_implicit_parallel;
    case ompt_sync_region_taskwait: return ompt_state_wait_taskwait;
    case ompt_sync_region_taskgroup: return ompt_state_wait_taskgroup;
    default: return ompt_state_wait_barrier_implementation;
  }
}

ompt_state_t state_of(ompt_mutex_t kind) {
  switch (kind) {
    case ompt_mutex_critical: return ompt_state_wait_critical;
    case ompt_mutex_atomic: return ompt_state_wait_atomic;
    case ompt_mutex_ordered: return ompt_state_wait_ordered;
    default: return ompt_state_wait_lock;
  }
}

// The region's data only where it has not ended.
void sync(ompt_callbacks_t event, const Member& member, ompt_sync_region_t kind, ompt_scope_endpoint_t endpoint,
          const void* from, bool region_is_there = true) {
  tell<ompt_callback_sync_region_t>(event, kind, endpoint, region_is_there ? data_of(*member.team) : nullptr,
                                    data_of(*member.task), from);
}

void implicit_task(ompt_scope_endpoint_t endpoint, ompt_data_t* region, Task& task, int threads, int index, int flags) {
  tell<ompt_callback_implicit_task_t>(ompt_callback_implicit_task, endpoint, region, data_of(task),
                                      static_cast<unsigned>(threads), static_cast<unsigned>(index), flags);
}

int flags_of_implicit(const Member& member) {
  return member.team->n == 1 ? ompt_task_implicit | ompt_task_undeferred : int{ompt_task_implicit};
}

ompt_dependence_type_t type_of(const Depend& depend) {
  if (depend.address == nullptr) return ompt_dependence_type_out_all_memory;
  switch (depend.kind) {
    case DepKind::kIn: return ompt_dependence_type_in;
    case DepKind::kMutexInOutSet: return ompt_dependence_type_mutexinoutset;
    case DepKind::kInOutSet: return ompt_dependence_type_inoutset;
    default: return ompt_dependence_type_inout;
  }
}

void dependences(ompt_data_t& data, size_t n, const Depend* depends) {
  if (n == 0 || callback_of(ompt_callback_dependences) == nullptr) return;
  std::vector<ompt_dependence_t> list(n);
  for (size_t i = 0; i < n; ++i) {
    list[i].variable.ptr = const_cast<void*>(depends[i].address);
    list[i].dependence_type = type_of(depends[i]);
  }
  tell<ompt_callback_dependences_t>(ompt_callback_dependences, &data, list.data(), static_cast<int>(n));
}

}  // namespace

int flags_of(const Member& member, const Task& task) {
  if ((task.flags & task_flag::kImplicit) != 0) {
    return member.team->opener == nullptr || member.team->level == 0 ? int{ompt_task_initial} : flags_of_implicit(member);
  }
  int flags = ompt_task_explicit;
  const bool alone = member.team->n == 1;
  if (alone || (task.flags & task_flag::kUndeferred) != 0) flags |= ompt_task_undeferred;
  if ((task.flags & task_flag::kUntied) != 0) flags |= ompt_task_untied;
  if ((task.flags & task_flag::kFinal) != 0) flags |= ompt_task_final;
  if ((task.flags & task_flag::kMergeable) != 0) flags |= ompt_task_mergeable;
  return flags;
}

void task_cleared(Task& task) { task.seen = {}; }

// ---- threads

void thread_begins(Thread& thread, ompt_thread_t kind) {
  thread.seen = {};
  thread.seen.state = kind == ompt_thread_worker ? ompt_state_idle : ompt_state_work_serial;
  tell<ompt_callback_thread_begin_t>(ompt_callback_thread_begin, kind, &thread.seen.data);
}

void initial_task_begins(Member& member, int teams, int index) {
  seen_of(member).called_from = nullptr;
  member.seen = {};
  if (member.team->opener == nullptr) {
    member.team->seen = {};
    task_cleared(member.implicit);  // it has been there before the tool
  }
  implicit_task(ompt_scope_begin, data_of(*member.team), member.implicit, teams, index, ompt_task_initial);
}

void initial_task_ends(Member& member, int index) {
  implicit_task(ompt_scope_end, nullptr, member.implicit, 0, index, ompt_task_initial);
}

// ---- regions

void region_begins(Team& team, Member& opener, int threads, int flags) {
  team.seen = {};
  team.seen.called_from = caller_of(opener);
  team.seen.flags = flags;
  tell<ompt_callback_parallel_begin_t>(ompt_callback_parallel_begin, data_of(*opener.task), &opener.task->seen.frame,
                                       data_of(team), static_cast<unsigned>(threads), flags, team.seen.called_from);
}

void region_ends(Team& team, Member& opener) {
  seen_of(opener).state = working_in(opener);
  tell<ompt_callback_parallel_end_t>(ompt_callback_parallel_end, data_of(team), data_of(*opener.task), team.seen.flags,
                                     team.seen.called_from);
}

void implicit_task_begins(Member& member) {
  ThreadSeen& thread = seen_of(member);
  thread.called_from = nullptr;
  thread.state = ompt_state_work_parallel;
  member.seen = {};
  member.seen.threads = member.team->n;  // it may end when the next region has begun
  implicit_task(ompt_scope_begin, data_of(*member.team), member.implicit, member.team->n, member.num,
                flags_of_implicit(member));
}

namespace {

// Whoever has opened the region is called from there again.
const void* joins_from(const Member& member) { return member.num == 0 ? member.team->seen.called_from : nullptr; }

}  // namespace

void join_begins(Member& member) {
  constexpr ompt_sync_region_t kKind = ompt_sync_region_barrier_implicit_parallel;
  ThreadSeen& thread = seen_of(member);
  frame_back(member.implicit);
  thread.called_from = joins_from(member);
  if (member.team->n == 1) return;
  sync(ompt_callback_sync_region, member, kKind, ompt_scope_begin, thread.called_from);
  sync(ompt_callback_sync_region_wait, member, kKind, ompt_scope_begin, thread.called_from);
  thread.state = state_of(kKind);
}

void join_ends(Member& member) {
  constexpr ompt_sync_region_t kKind = ompt_sync_region_barrier_implicit_parallel;
  ThreadSeen& thread = seen_of(member);
  thread.state = ompt_state_overhead;
  if (member.num == 0 && member.team->n == 1) return;
  member.task = &member.implicit;
  member.seen.is_over = member.num != 0;
  sync(ompt_callback_sync_region_wait, member, kKind, ompt_scope_end, thread.called_from, false);
  sync(ompt_callback_sync_region, member, kKind, ompt_scope_end, thread.called_from, false);
}

void implicit_task_ends(Member& member) {
  implicit_task(ompt_scope_end, nullptr, member.implicit, member.seen.threads, member.num, ompt_task_implicit);
}

// ---- tasks

void task_made(Member& member, Task& task, size_t n, const Depend* depends) {
  Task& parent = *member.task;
  tell<ompt_callback_task_create_t>(ompt_callback_task_create, data_of(parent), &parent.seen.frame, data_of(task),
                                    flags_of(member, task), n != 0 ? 1 : 0, caller_of(member));
  dependences(task.seen.data, n, depends);
}

Left task_begins(Member& member, Task& task) {
  ThreadSeen& thread = seen_of(member);
  const Left left = {thread.called_from, thread.state, thread.yields};
  task.seen.below = member.task;
  tell<ompt_callback_task_schedule_t>(ompt_callback_task_schedule, data_of(*member.task),
                                      left.yields ? ompt_task_yield : ompt_task_switch, data_of(task));
  thread.called_from = nullptr;
  thread.yields = false;
  thread.state = working_in(member);
  if (task.seen.piece.iterations != 0) {
    ompt_data_t instance;
    instance.ptr = &task.seen.piece;
    tell<ompt_callback_dispatch_t>(ompt_callback_dispatch, data_of(*member.team), data_of(task),
                                   ompt_dispatch_taskloop_chunk, instance);
  }
  return left;
}

void task_ends(Member& member, Task& task, Task& back, ompt_task_status_t status, const Left& left) {
  ThreadSeen& thread = seen_of(member);
  thread.called_from = left.called_from;
  thread.yields = left.yields;
  thread.state = left.state;
  tell<ompt_callback_task_schedule_t>(ompt_callback_task_schedule, data_of(task), status, data_of(back));
  // Whoever has fulfilled the event meanwhile has left it to us to tell that: it comes after this.
  if (status != ompt_task_detach) return;
  const uint32_t before = task.event.fetch_or(kEventTold, std::memory_order_acq_rel);
  if ((before & kEventFulfilled) != 0) event_fulfilled(task.seen.data, before | kEventTold);
}

void task_ends(Member& member, Task& task, Task& back, ompt_task_status_t status) {
  task_ends(member, task, back, status, {caller_of(member), working_in(member), false});
}

void task_dropped(Task& task) {
  tell<ompt_callback_cancel_t>(ompt_callback_cancel, data_of(task), ompt_cancel_taskgroup | ompt_cancel_discarded_task,
                               nullptr);
}

ompt_task_status_t body_of_detachable_ends(Task& task) {
  const uint32_t before = task.event.fetch_or(kEventTelling, std::memory_order_acq_rel);
  return (before & kEventFulfilled) != 0 ? ompt_task_complete : ompt_task_detach;
}

void event_fulfilled(ompt_data_t data, uint32_t before) {
  if ((before & kEventTelling) != 0 && (before & kEventTold) == 0) return;  // task_ends() does it
  const bool late = (before & kEventTold) != 0;
  tell<ompt_callback_task_schedule_t>(ompt_callback_task_schedule, &data,
                                      late ? ompt_task_late_fulfill : ompt_task_early_fulfill, nullptr);
}

void dependence(ompt_data_t& before, ompt_data_t& after) {
  tell<ompt_callback_task_dependence_t>(ompt_callback_task_dependence, &before, &after);
}

void waiting_task_begins(Member& member, ompt_data_t& data, size_t n, const Depend* depends) {
  Task& parent = *member.task;
  data.value = 0;
  constexpr int kFlags = ompt_task_taskwait | ompt_task_undeferred | ompt_task_mergeable;
  tell<ompt_callback_task_create_t>(ompt_callback_task_create, data_of(parent), &parent.seen.frame, &data, kFlags, 1,
                                    caller_of(member));
  dependences(data, n, depends);
}

void waiting_task_ends(ompt_data_t& data) {
  tell<ompt_callback_task_schedule_t>(ompt_callback_task_schedule, &data, ompt_taskwait_complete, nullptr);
}

void called_by_program(Member& member, void* frame) {
  Task& task = *member.task;
  Task& outside = (task.flags & task_flag::kImplicit) != 0 ? *member.team->opener->task : *task.seen.below;
  // The program's frame, if it keeps one in the register; else where its stack ends.
  constexpr uintptr_t kFar = uintptr_t{1} << 20;
  void* const stack = outside.seen.frame.enter_frame.ptr;
  const uintptr_t above = reinterpret_cast<uintptr_t>(frame) - reinterpret_cast<uintptr_t>(stack);
  const bool is_frame = above < kFar && above % sizeof(void*) == 0;
  task.seen.frame.exit_frame.ptr = is_frame ? frame : stack;
  task.seen.frame.exit_frame_flags = ompt_frame_application | (is_frame ? ompt_frame_framepointer : ompt_frame_stackaddress);
}

// ---- waits

void Sync::begin(Member& member, ompt_sync_region_t kind) {
  if (!is_there()) return;
  ThreadSeen& thread = seen_of(member);
  x_member = &member;
  x_kind = kind;
  x_before = thread.state;
  sync(ompt_callback_sync_region, member, kind, ompt_scope_begin, thread.called_from);
  sync(ompt_callback_sync_region_wait, member, kind, ompt_scope_begin, thread.called_from);
  thread.state = state_of(kind);
}

void Sync::end() {
  Member& member = *x_member;
  ThreadSeen& thread = seen_of(member);
  thread.state = x_before;
  sync(ompt_callback_sync_region_wait, member, x_kind, ompt_scope_end, thread.called_from);
  sync(ompt_callback_sync_region, member, x_kind, ompt_scope_end, thread.called_from);
}

void group_begins(Member& member) {
  sync(ompt_callback_sync_region, member, ompt_sync_region_taskgroup, ompt_scope_begin, caller_of(member));
}

void group_waits(Member& member) {
  sync(ompt_callback_sync_region_wait, member, ompt_sync_region_taskgroup, ompt_scope_begin, caller_of(member));
  seen_of(member).state = ompt_state_wait_taskgroup;
}

void group_ends(Member& member) {
  seen_of(member).state = working_in(member);
  sync(ompt_callback_sync_region_wait, member, ompt_sync_region_taskgroup, ompt_scope_end, caller_of(member));
  sync(ompt_callback_sync_region, member, ompt_sync_region_taskgroup, ompt_scope_end, caller_of(member));
}

void reduction(Member& member, ompt_scope_endpoint_t endpoint) {
  seen_of(member).state = endpoint == ompt_scope_begin ? ompt_state_work_reduction : working_in(member);
  sync(ompt_callback_reduction, member, ompt_sync_region_reduction, endpoint, caller_of(member));
}

void Yield::begin(Member& member) {
  if (!is_there()) return;
  x_thread = member.thread;
  x_thread->seen.yields = true;
}

void Yield::end() { x_thread->seen.yields = false; }

// ---- what a team shares out

ompt_work_t work_of(const Member& member, const LoopSpec& spec) {
  if (spec.sections) return ompt_work_sections;
  switch (spec.deal) {
    case Deal::kStatic: return ompt_work_loop_static;
    case Deal::kDynamic: return ompt_work_loop_dynamic;
    default: return member.team->n == 1 ? ompt_work_loop_static : ompt_work_loop_guided;  // one piece is all of it
  }
}

void work(Member& member, ompt_work_t kind, ompt_scope_endpoint_t endpoint, uint64_t count) {
  tell<ompt_callback_work_t>(ompt_callback_work, kind, endpoint, data_of(*member.team), data_of(*member.task), count,
                             caller_of(member));
}

void work_begins(Member& member, ompt_work_t kind, uint64_t count) {
  work_ends(member);
  member.seen.work = kind;
  member.seen.count = count;
  member.seen.works = true;
  work(member, kind, ompt_scope_begin, count);
}

void work_ends(Member& member) {
  if (!member.seen.works) return;
  member.seen.works = false;
  work(member, member.seen.work, ompt_scope_end, member.seen.count);
}

void piece(Member& member, ompt_dispatch_t kind, uint64_t first, uint64_t iterations) {
  ompt_dispatch_chunk_t& chunk = seen_of(member).chunk;
  chunk = {first, iterations};
  ompt_data_t instance;
  instance.ptr = &chunk;
  tell<ompt_callback_dispatch_t>(ompt_callback_dispatch, data_of(*member.team), data_of(*member.task), kind, instance);
}

void section(Member& member) {
  ompt_data_t instance;
  instance.ptr = const_cast<void*>(caller_of(member));
  tell<ompt_callback_dispatch_t>(ompt_callback_dispatch, data_of(*member.team), data_of(*member.task),
                                 ompt_dispatch_section, instance);
}

void masked(Member& member, ompt_scope_endpoint_t endpoint) {
  tell<ompt_callback_masked_t>(ompt_callback_masked, endpoint, data_of(*member.team), data_of(*member.task),
                               caller_of(member));
}

void doacross(Member& member, ompt_dependence_type_t type, const int64_t* values, unsigned dims) {
  if (callback_of(ompt_callback_dependences) == nullptr) return;
  std::vector<ompt_dependence_t> list(dims);
  for (unsigned i = 0; i < dims; ++i) {
    list[i].variable.value = static_cast<uint64_t>(values[i]);
    list[i].dependence_type = type;
  }
  tell<ompt_callback_dependences_t>(ompt_callback_dependences, data_of(*member.task), list.data(), static_cast<int>(dims));
}

void cancel(Member& member, int flags) {
  tell<ompt_callback_cancel_t>(ompt_callback_cancel, data_of(*member.task), flags, caller_of(member));
}

namespace {

// Of what may be called by anybody: null: nobody whom the tool knows.
Thread* caller() { return is_there() ? this_thread_if_any() : nullptr; }

}  // namespace

void flush() {
  if (Thread* thread = caller()) {
    tell<ompt_callback_flush_t>(ompt_callback_flush, &thread->seen.data, thread->seen.called_from);
  }
}

void error(bool fatal, const char* message) {
  Thread* thread = caller();
  if (thread == nullptr) return;
  if (message == nullptr) message = "";
  tell<ompt_callback_error_t>(ompt_callback_error, fatal ? ompt_fatal : ompt_warning, message,
                              std::char_traits<char>::length(message), thread->seen.called_from);
}

// ---- locks

namespace {

ompt_wait_id_t wait_id_of(const void* lock) { return reinterpret_cast<uintptr_t>(lock); }

// With the time that it takes to get there, in which nothing is told: who waits for a lock has a thread that knows us.
void mutex(ompt_callbacks_t event, ompt_mutex_t kind, const void* lock, const Thread& thread) {
  tell<ompt_callback_mutex_t>(event, kind, wait_id_of(lock), thread.seen.called_from);
}

void mutex_and_hint(ompt_callbacks_t event, ompt_mutex_t kind, const void* lock, unsigned hint, const Thread& thread) {
  tell<ompt_callback_mutex_acquire_t>(event, kind, hint, static_cast<unsigned>(kMutexImpl), wait_id_of(lock),
                                      thread.seen.called_from);
}

}  // namespace

void lock_made(ompt_mutex_t kind, const void* lock, unsigned hint) {
  if (Thread* thread = caller()) mutex_and_hint(ompt_callback_lock_init, kind, lock, hint, *thread);
}

void lock_gone(ompt_mutex_t kind, const void* lock) {
  if (Thread* thread = caller()) mutex(ompt_callback_lock_destroy, kind, lock, *thread);
}

void mutex_wanted(ompt_mutex_t kind, const void* lock, unsigned hint) {
  Thread* thread = caller();
  if (thread == nullptr) return;
  mutex_and_hint(ompt_callback_mutex_acquire, kind, lock, hint, *thread);
  thread->seen.wait_id = wait_id_of(lock);
  thread->seen.state = state_of(kind);
}

void mutex_missed() {
  Thread* thread = caller();
  if (thread == nullptr) return;
  thread->seen.state = working_in(*thread->member);
  thread->seen.wait_id = 0;
}

void mutex_taken(ompt_mutex_t kind, const void* lock) {
  mutex_missed();
  if (Thread* thread = caller()) mutex(ompt_callback_mutex_acquired, kind, lock, *thread);
}

void mutex_left(ompt_mutex_t kind, const void* lock) {
  if (Thread* thread = caller()) mutex(ompt_callback_mutex_released, kind, lock, *thread);
}

void nest_changed(ompt_scope_endpoint_t endpoint, const void* lock) {
  mutex_missed();
  if (Thread* thread = caller()) {
    tell<ompt_callback_nest_lock_t>(ompt_callback_nest_lock, endpoint, wait_id_of(lock), thread->seen.called_from);
  }
}

}  // namespace weft::omp::tool
