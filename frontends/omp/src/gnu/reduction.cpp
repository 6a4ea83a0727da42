#include "gnu/reduction.hpp"

#include <cstdlib>
#include <cstring>

#include "barrier.hpp"
#include "export.hpp"
#include "gnu/message.hpp"
#include "gnu/taskgroup.hpp"
#include "task.hpp"
#include "team.hpp"

namespace weft::omp::gnu {

Reductions* reductions_in_force(const Member& member) {
  for (const TaskGroup* group = member.task->group; group; group = group->outer) {
    if (group->reductions) return static_cast<Reductions*>(group->reductions);
  }
  return static_cast<Reductions*>(member.team->gnu);
}

void allocate(Reductions* first, unsigned threads) {
  for (Reductions* r = first; r; r = r->next) {
    const size_t align = r->base < sizeof(void*) ? sizeof(void*) : r->base;
    const size_t bytes = r->bytes * threads;
    void* memory = nullptr;
    if (posix_memalign(&memory, align, bytes ? bytes : 1)) fail("out of memory for a task reduction: %zu bytes", bytes);
    memset(memory, 0, bytes);
    r->base = reinterpret_cast<uintptr_t>(memory);
    r->end = r->base + bytes;
    r->last = 0;
  }
}

void allocate_for_team(void* reductions) {
  allocate(static_cast<Reductions*>(reductions), this_member().team->n);
}

void tie(Reductions* first, Reductions* outside) {
  Reductions* r = first;
  while (r->next) r = r->next;
  r->last = 1;
  r->next = outside;
}

namespace {

// The memory that another member has allocated for the same construct.
void take_over(Reductions* own, const Reductions* shared) {
  for (Reductions* r = own;; r = r->next, shared = shared->next) {
    r->base = shared->base;
    r->end = shared->end;
    r->last = 0;
    if (!r->next) return;
  }
}

const Reductions::Item* find_original(const Reductions* first, const void* address, const Reductions** in) {
  for (const Reductions* r = first; r; r = r->next) {
    for (uintptr_t i = 0; i < r->count; i++) {
      if (r->items()[i].original != address) continue;
      *in = r;
      return &r->items()[i];
    }
  }
  return nullptr;
}

// An address in some thread's copy; null: it is in none.
const Reductions* find_copy(const Reductions* first, uintptr_t address) {
  for (const Reductions* r = first; r; r = r->next) {
    if (address >= r->base && address < r->end) return r;
  }
  return nullptr;
}

void* original_at(const Reductions& r, uintptr_t offset) {
  for (uintptr_t i = 0; i < r.count; i++) {
    if (r.items()[i].offset == offset) return r.items()[i].original;
  }
  return nullptr;
}

[[noreturn]] void unknown(const void* address) {
  fail("couldn't find matching task_reduction or reduction with task modifier for %p", address);
}

}  // namespace

void release(Reductions* first) {
  for (Reductions* r = first; r; r = r->next) {
    free(reinterpret_cast<void*>(r->base));
    if (r->last) return;
  }
}

void workshare_group_begin(Member& member) {
  const TaskGroup* outer = member.task->group;
  taskgroup_begin(member);
  TaskGroup& group = *member.task->group;
  group.workshare = true;
  if (outer && outer->cancelled.load(std::memory_order_relaxed)) group.cancelled.store(true, std::memory_order_relaxed);
}

void workshare_group_join(Member& member, Reductions* own, const Reductions* shared) {
  if (own != shared) take_over(own, shared);
  // Its group has no reductions yet, so what is found is outside.
  tie(own, reductions_in_force(member));
  member.task->group->reductions = own;
}

}  // namespace weft::omp::gnu

using namespace weft::omp;
using gnu::Reductions;

// In the task group that the task has begun just now.
WEFT_OMP_API void GOMP_taskgroup_reduction_register(Reductions* reductions) {
  Member& member = this_member();
  gnu::allocate(reductions, member.team->n);
  gnu::workshare_group_join(member, reductions, reductions);
}
WEFT_OMP_GNU(GOMP_taskgroup_reduction_register, "GOMP_5.0")

WEFT_OMP_API void GOMP_taskgroup_reduction_unregister(Reductions* reductions) { gnu::release(reductions); }
WEFT_OMP_GNU(GOMP_taskgroup_reduction_unregister, "GOMP_5.0")

// Each of cnt addresses, of a variable or of a thread's copy of it, becomes that of this thread's copy; behind these, for the
// first cntorig of them, come those of the variables. A task stays with its member, so the answer stays true.
WEFT_OMP_API void GOMP_task_reduction_remap(size_t cnt, size_t cntorig, void** ptrs) {
  const Member& member = this_member();
  const Reductions* first = gnu::reductions_in_force(member);
  const uintptr_t num = static_cast<uintptr_t>(member.num);
  for (size_t i = 0; i < cnt; i++) {
    const Reductions* in = nullptr;
    uintptr_t offset;
    void* original;
    if (const Reductions::Item* item = gnu::find_original(first, ptrs[i], &in)) {
      offset = item->offset;
      original = item->original;
    } else {
      const uintptr_t address = reinterpret_cast<uintptr_t>(ptrs[i]);
      in = gnu::find_copy(first, address);
      if (!in) gnu::unknown(ptrs[i]);
      offset = (address - in->base) % in->bytes;
      original = i < cntorig ? gnu::original_at(*in, offset) : ptrs[i];
      if (!original) gnu::unknown(ptrs[i]);
    }
    ptrs[i] = reinterpret_cast<void*>(in->base + num * in->bytes + offset);
    if (i < cntorig) ptrs[cnt + i] = original;
  }
}
WEFT_OMP_GNU(GOMP_task_reduction_remap, "GOMP_5.0")

// The end of a worksharing construct or scope with reductions: all members call it.
WEFT_OMP_API void GOMP_workshare_task_reduction_unregister(bool cancelled) {
  const tool::Entry entry(WEFT_OMP_CALLER);
  Member& member = this_member();
  auto* reductions = static_cast<Reductions*>(member.task->group->reductions);
  gnu::taskgroup_end(member);
  // The code has member 0 combine the copies, after a barrier: nobody else needs them any more.
  if (member.num == 0) gnu::release(reductions);
  if (!cancelled) barrier(member, false, ompt_sync_region_barrier_implicit_workshare);
}
WEFT_OMP_GNU(GOMP_workshare_task_reduction_unregister, "GOMP_5.0")
