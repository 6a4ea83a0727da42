#include "gnu/make_task.hpp"

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "export.hpp"
#include "gnu/depend.hpp"
#include "gnu/taskgroup.hpp"
#include "task_call.hpp"
#include "task_end.hpp"
#include "team.hpp"

namespace weft::omp::gnu {
namespace {

// A task's payload: the arguments lie behind it.
struct Body {
  Function fn;
  void* data;
};

void run_body(Task* task) {
  const Body& body = *static_cast<Body*>(payload(task));
  if (tool::there()) {
    tool::call(*task, [&body] { body.fn(body.data); });
  } else {
    body.fn(body.data);
  }
}

// The code finds its event where the clause says, and as the first of the arguments.
void give_event(Task* task, void* detach, void* data) {
  *static_cast<Task**>(detach) = task;
  if (data) *static_cast<Task**>(data) = task;
}

// if(0), or in a final task: the caller does it, with the arguments as they are unless they have to be constructed.
void do_at_once(Member& member, TaskWish wish, Function fn, const Arguments& arguments, const Depends& depends,
                void* detach) {
  wish.flags |= task_flag::kUndeferred;
  void* data = arguments.data;
  Task* task;
  if (arguments.copy) {
    task = make_task_uncopied(member, wish, fn, arguments.size, arguments.align, &data);
  } else {
    task = task_create(member, wish);
  }
  if (detach) give_event(task, detach, arguments.data);
  task_begin(member, task, depends.count(), depends.items());
  if (arguments.copy) arguments.copy(data, arguments.data);
  if (tool::there()) {
    tool::call(*task, [=] { fn(data); });
  } else {
    fn(data);
  }
  task_end(member, task);
}

[[gnu::noinline]] void make_and_start(Member& member, Function fn, const Arguments& arguments, bool deferred, unsigned flags,
                                      void** depend, int priority, void* detach) {
  if (group_cancelled(member)) return;
  const TaskWish wish = make_wish(member, flags, priority);
  const Depends depends(flags & kFlagDepend ? depend : nullptr);
  if (!(flags & kFlagDetach)) detach = nullptr;
  if (!deferred || tasks_are_included(member)) {
    do_at_once(member, wish, fn, arguments, depends, detach);
    return;
  }
  void* own;
  Task* task = make_task(member, wish, fn, arguments, &own);
  if (detach) give_event(task, detach, arguments.size ? own : nullptr);
  task_start(member, task, depends.count(), depends.items());
}

}  // namespace

TaskWish make_wish(Member&, unsigned flags, int priority) {
  TaskWish wish;
  wish.run = run_body;
  wish.flags = core_flags(flags);
  if (flags & kFlagPriority) wish.priority = std::clamp(priority, 0, device().max_task_priority);
  return wish;
}

Task* make_task_uncopied(Member& member, const TaskWish& wish, Function fn, size_t size, size_t align, void** own) {
  // The payload lies at a multiple of 64.
  align = std::max(align, alignof(Body));
  size_t at = (sizeof(Body) + align - 1) & ~(align - 1);
  Task* task = task_create(member, wish, at + size + (align > 64 ? align - 64 : 0));
  auto* body = static_cast<Body*>(payload(task));
  const uintptr_t begin = reinterpret_cast<uintptr_t>(body + 1);
  body->fn = fn;
  body->data = reinterpret_cast<void*>((begin + align - 1) & ~(align - 1));
  *own = body->data;
  return task;
}

Task* make_task(Member& member, const TaskWish& wish, Function fn, const Arguments& arguments, void** own) {
  Task* task = make_task_uncopied(member, wish, fn, arguments.size, arguments.align, own);
  if (arguments.copy) {
    // What has been constructed is destructed by the task itself: it must run, cancelled or not.
    task->flags |= task_flag::kNoCancel;
    arguments.copy(*own, arguments.data);
  } else if (arguments.size) {
    memcpy(*own, arguments.data, arguments.size);
  }
  return task;
}

void taskgroup_begin(Member& member) { group_begin(member, new TaskGroup); }

void taskgroup_end(Member& member) { delete group_end(member); }

}  // namespace weft::omp::gnu

using namespace weft::omp;

namespace {

// Nothing but a body, and bytes for it.
bool is_plain(gnu::Copy copy, unsigned flags) {
  return copy == nullptr && (flags & (gnu::kFlagDepend | gnu::kFlagPriority | gnu::kFlagDetach)) == 0;
}

[[gnu::always_inline]] inline void new_plain_task(gnu::Function fn, void* data, long size, long align, bool deferred,
                                                  unsigned flags) {
  Member& member = this_member();
  if (group_cancelled(member)) return;
  if (!deferred || member.team->n == 1 || task_best_at_once(member)) {
    task_call(member, gnu::core_flags(flags), fn, data);  // with the caller's arguments, who goes on only afterwards
    return;
  }
  const gnu::Arguments arguments{data, nullptr, static_cast<size_t>(size), static_cast<size_t>(align)};
  void* own;
  task_defer(member, gnu::make_task(member, gnu::make_wish(member, flags, 0), fn, arguments, &own));
}

// depend, priority and detach mean something only where their flags are set.
[[gnu::noinline]] void new_special_task(gnu::Function fn, void* data, gnu::Copy copy, long size, long align, bool deferred,
                                        unsigned flags, void** depend, int priority, void* detach) {
  Member& member = this_member();
  // Where nobody is left it waits for nobody, and if it runs at once nobody for it: only a tool wants to know.
  const bool needs_nobody = is_plain(copy, flags & ~gnu::kFlagDepend) && tasks_are_done(*member.task) && !tool::there();
  if (needs_nobody && (!deferred || task_best_at_once(member))) {
    if (!group_cancelled(member)) task_call(member, gnu::core_flags(flags), fn, data);
    return;
  }
  const gnu::Arguments arguments{data, copy, static_cast<size_t>(size), static_cast<size_t>(align)};
  gnu::make_and_start(member, fn, arguments, deferred, flags, depend, priority, detach);
}

[[gnu::always_inline]] inline void new_task(gnu::Function fn, void* data, gnu::Copy copy, long size, long align, bool deferred,
                                            unsigned flags, void** depend, int priority, void* detach) {
  if (is_plain(copy, flags)) {
    new_plain_task(fn, data, size, align, deferred, flags);
  } else {
    new_special_task(fn, data, copy, size, align, deferred, flags, depend, priority, detach);
  }
}

// With a tool: not in the way of those without.
[[gnu::noinline, gnu::cold]] void new_task_seen(const void* from, void* frame, gnu::Function fn, void* data, gnu::Copy copy,
                                                long size, long align, bool deferred, unsigned flags, void** depend,
                                                int priority, void* detach) {
  const tool::Entry entry(from, frame);
  new_task(fn, data, copy, size, align, deferred, flags, depend, priority, detach);
}

}  // namespace

WEFT_OMP_API void GOMP_task(gnu::Function fn, void* data, gnu::Copy copy, long size, long align, bool deferred,
                            unsigned flags, void** depend, int priority, void* detach) {
  if (tool::there()) {
    new_task_seen(WEFT_OMP_CALLER, fn, data, copy, size, align, deferred, flags, depend, priority, detach);
  } else {
    new_task(fn, data, copy, size, align, deferred, flags, depend, priority, detach);
  }
}
WEFT_OMP_GNU(GOMP_task, "GOMP_2.0")

namespace {

[[gnu::noinline, gnu::cold]] void taskwait_seen(const void* from, void* frame) {
  const tool::Entry entry(from, frame);
  task_wait(this_member());
}

}  // namespace

WEFT_OMP_API void GOMP_taskwait() { tool::there() ? taskwait_seen(WEFT_OMP_CALLER) : task_wait(this_member()); }
WEFT_OMP_GNU(GOMP_taskwait, "GOMP_2.0")

WEFT_OMP_API void GOMP_taskwait_depend(void** depend) {
  const tool::Entry entry(WEFT_OMP_CALLER);
  const gnu::Depends depends(depend);
  task_wait_depend(this_member(), depends.count(), depends.items());
}
WEFT_OMP_GNU(GOMP_taskwait_depend, "GOMP_5.0")

WEFT_OMP_API void GOMP_taskwait_depend_nowait(void** depend) {
  const tool::Entry entry(WEFT_OMP_CALLER);
  const gnu::Depends depends(depend);
  task_wait_depend(this_member(), depends.count(), depends.items(), true);
}
WEFT_OMP_GNU(GOMP_taskwait_depend_nowait, "GOMP_5.1.1")

WEFT_OMP_API void GOMP_taskyield() {
  const tool::Entry entry(WEFT_OMP_CALLER);
  task_yield(this_member());
}
WEFT_OMP_GNU(GOMP_taskyield, "GOMP_3.0")

WEFT_OMP_API void GOMP_taskgroup_start() {
  const tool::Entry entry(WEFT_OMP_CALLER);
  gnu::taskgroup_begin(this_member());
}
WEFT_OMP_GNU(GOMP_taskgroup_start, "GOMP_4.0")

WEFT_OMP_API void GOMP_taskgroup_end() {
  const tool::Entry entry(WEFT_OMP_CALLER);
  gnu::taskgroup_end(this_member());
}
WEFT_OMP_GNU(GOMP_taskgroup_end, "GOMP_4.0")
