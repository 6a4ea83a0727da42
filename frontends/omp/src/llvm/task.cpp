// task.cpp: explicit tasks, taskwait, taskgroup.
#include "task.hpp"

#include <algorithm>

#include "llvm/ident.hpp"
#include "llvm/kmp_task.hpp"
#include "llvm/task_reduction.hpp"
#include "task_call.hpp"
#include "team.hpp"

namespace weft::omp::llvm {
namespace {

constexpr size_t kSharedsAlign = 16;

Member& member_of(int32_t gtid) { return *thread_of(gtid).member; }

KmpTask* allocate(Member& member, int32_t flags, size_t bytes, size_t shareds, TaskEntry entry) {
  const size_t offset = (std::max(bytes, sizeof(KmpTask)) + kSharedsAlign - 1) & ~(kSharedsAlign - 1);
  Task* task = make_task(member, flags, offset + shareds);
  KmpTask* kmp = kmp_task_of(task);
  kmp->shareds = shareds > 0 ? reinterpret_cast<char*>(kmp) + offset : nullptr;
  kmp->entry = entry;
  if (__builtin_expect(entry == nullptr, 0)) {  // nothing of it but its dependences
    not_a_call(member, task);
    task->run = nullptr;
  }
  kmp->part = 0;
  return kmp;
}

// Of an untied task that has given itself back after a part of it.
[[gnu::noinline]] void call_again(Member& member, Task* task) {
  KmpTask* kmp = kmp_task_of(task);
  while ((task->flags & task_flag::kAgain) != 0) {
    task_flags_set(*task, task->flags & ~task_flag::kAgain);
    if (task->children != 0) run_one_child(member);
    kmp->entry(member.thread->gtid, kmp);
  }
}

inline void call_prepared(Member& member, Task* task) {
  if (__builtin_expect(group_cancelled(member), 0)) {
    call_keep(member, task);
    return;
  }
  KmpTask* kmp = kmp_task_of(task);
  call_begin(member, task);
  kmp->entry(member.thread->gtid, kmp);
  if (__builtin_expect((task->flags & task_flag::kAgain) != 0, 0)) call_again(member, task);
  call_end(member, task);
}

// An untied task gives itself back after each part of it.
inline int32_t start(Member& member, KmpTask* kmp) {
  Task* task = task_of_payload(kmp);
  if (__builtin_expect(member.task == task, 0)) {
    task_again(member, task);
    return 0;
  }
  if (is_prepared_call(task)) {
    call_prepared(member, task);
    return 0;
  }
  read_priority(task);
  task_start(member, task);
  return 0;
}

}  // namespace
}  // namespace weft::omp::llvm

using namespace weft::omp;
using namespace weft::omp::llvm;

WEFT_OMP_API KmpTask* __kmpc_omp_task_alloc(Ident*, int32_t gtid, int32_t flags, size_t bytes, size_t shareds,
                                            TaskEntry entry) {
  return allocate(member_of(gtid), flags, bytes, shareds, entry);
}

// Of a target construct with nowait: here it is a task like others.
WEFT_OMP_API KmpTask* __kmpc_omp_target_task_alloc(Ident*, int32_t gtid, int32_t flags, size_t bytes, size_t shareds,
                                                   TaskEntry entry, int64_t) {
  return allocate(member_of(gtid), flags, bytes, shareds, entry);
}

WEFT_OMP_API int32_t __kmpc_omp_task(Ident*, int32_t gtid, KmpTask* kmp) {
  const tool::Entry entry(WEFT_OMP_CALLER);
  return start(member_of(gtid), kmp);
}
WEFT_OMP_API int32_t __kmpc_omp_task_parts(Ident*, int32_t gtid, KmpTask* kmp) {
  const tool::Entry entry(WEFT_OMP_CALLER);
  return start(member_of(gtid), kmp);
}

WEFT_OMP_API int32_t __kmpc_omp_task_with_deps(Ident*, int32_t gtid, KmpTask* kmp, int32_t count, KmpDepend* list,
                                               int32_t more_count, KmpDepend* more) {
  const tool::Entry entry(WEFT_OMP_CALLER);
  const Depends depends(count, list, more_count, more);
  Member& member = member_of(gtid);
  Task* task = task_of_payload(kmp);
  // Where nobody is left it waits for nobody, and if it runs at once nobody for it.
  if (member.task == task || (is_prepared_call(task) && tasks_are_done(*member.task))) return start(member, kmp);
  not_a_call(member, task);
  read_priority(task);
  task_start(member, task, depends.size(), depends.data());
  return 0;
}

// if(false): the compiler calls the body between these two, after it has waited for the dependences.
WEFT_OMP_API void __kmpc_omp_task_begin_if0(Ident*, int32_t gtid, KmpTask* kmp) {
  const tool::Entry entry(WEFT_OMP_CALLER);
  Member& member = member_of(gtid);
  if (is_prepared_call(task_of_payload(kmp))) {
    call_begin(member, task_of_payload(kmp));
    return;
  }
  task_begin(member, task_of_payload(kmp));
  if (tool::there()) tool::called_by_program(member, WEFT_OMP_FRAME_REGISTER);
}

WEFT_OMP_API void __kmpc_omp_task_complete_if0(Ident*, int32_t gtid, KmpTask* kmp) {
  const tool::Entry entry(WEFT_OMP_CALLER);
  Member& member = member_of(gtid);
  Task* task = task_of_payload(kmp);
  // An untied one has given itself back: whoever made it waits for all of it, and so runs its parts one after the other.
  while ((task->flags & task_flag::kAgain) != 0) {
    task->flags &= static_cast<uint16_t>(~task_flag::kAgain);
    kmp->entry(gtid, kmp);
  }
  if (is_prepared_call(task)) {
    call_end(member, task);
    return;
  }
  body_ended(task);
  // Of an undeferred task its maker waits for the body, not for its event.
  if ((task->flags & task_flag::kDetachable) != 0) task->flags &= static_cast<uint16_t>(~task_flag::kUndeferred);
  task_end(member, task);
}

WEFT_OMP_API int32_t __kmpc_omp_taskwait(Ident*, int32_t gtid) {
  const tool::Entry entry(WEFT_OMP_CALLER);
  task_wait(member_of(gtid));
  return 0;
}

WEFT_OMP_API int32_t __kmpc_omp_taskyield(Ident*, int32_t gtid, int) {
  const tool::Entry entry(WEFT_OMP_CALLER);
  task_yield(member_of(gtid));
  return 0;
}

WEFT_OMP_API void __kmpc_omp_taskwait_deps_51(Ident*, int32_t gtid, int32_t count, KmpDepend* list, int32_t more_count,
                                              KmpDepend* more, int32_t nowait) {
  const tool::Entry entry(WEFT_OMP_CALLER);
  const Depends depends(count, list, more_count, more);
  task_wait_depend(member_of(gtid), depends.size(), depends.data(), nowait != 0);
}
WEFT_OMP_API void __kmpc_omp_wait_deps(Ident* ident, int32_t gtid, int32_t count, KmpDepend* list, int32_t more_count,
                                       KmpDepend* more) {
  const tool::Entry entry(WEFT_OMP_CALLER);
  __kmpc_omp_taskwait_deps_51(ident, gtid, count, list, more_count, more, 0);
}

// affinity(): tasks run where there is somebody to run them.
WEFT_OMP_API int32_t __kmpc_omp_reg_task_with_affinity(Ident*, int32_t, KmpTask*, int32_t, void*) { return 0; }

// ---- taskgroup

WEFT_OMP_API void __kmpc_taskgroup(Ident*, int gtid) {
  const tool::Entry entry(WEFT_OMP_CALLER);
  group_begin(member_of(gtid), new TaskGroup);
}

WEFT_OMP_API void __kmpc_end_taskgroup(Ident*, int gtid) {
  const tool::Entry entry(WEFT_OMP_CALLER);
  Member& member = member_of(gtid);
  TaskGroup* group = group_end(member);
  if (group->reductions != nullptr) combine_reductions(member, *group);
  delete group;
}

// ---- events: detach(), and tasks that somebody else completes

WEFT_OMP_API void* __kmpc_task_allow_completion_event(Ident*, int, KmpTask* kmp) { return task_of_payload(kmp); }
WEFT_OMP_API void __kmpc_proxy_task_completed(int32_t, KmpTask* kmp) { event_fulfill(task_of_payload(kmp)); }
WEFT_OMP_API void __kmpc_proxy_task_completed_ooo(KmpTask* kmp) { event_fulfill(task_of_payload(kmp)); }

// ---- for debuggers and libomptarget

WEFT_OMP_API uint64_t __kmpc_get_taskid() {
  const Thread* thread = this_thread_if_any();
  return thread == nullptr ? 0 : reinterpret_cast<uintptr_t>(thread->member->task);
}
WEFT_OMP_API uint64_t __kmpc_get_parent_taskid() {
  const Thread* thread = this_thread_if_any();
  return thread == nullptr ? 0 : reinterpret_cast<uintptr_t>(thread->member->task->parent);
}

// A target task that is under way elsewhere has a handle there. We have none: libomptarget then waits in the task.
WEFT_OMP_API bool __kmpc_omp_has_task_team(int32_t) { return false; }
WEFT_OMP_API void** __kmpc_omp_get_target_async_handle_ptr(int32_t) { return nullptr; }
// libomp's nodes of the graph of dependences. Ours are laid out in another way; null is "none".
WEFT_OMP_API void* __kmpc_task_get_depnode(KmpTask*) { return nullptr; }
WEFT_OMP_API void* __kmpc_task_get_successors(KmpTask*) { return nullptr; }
