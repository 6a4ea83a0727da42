// sections.cpp: a loop over the numbers 1 to n, one at a time; 0 says that there are none left. Single and scope stand here too.
#include "barrier.hpp"
#include "export.hpp"
#include "gnu/loop.hpp"
#include "gnu/reduction.hpp"
#include "gnu/sections.hpp"

namespace weft::omp::gnu {

LoopSpec sections_spec(unsigned count) {
  LoopSpec spec;
  spec.trip = count;
  spec.chunk = 1;
  spec.sections = true;
  spec.start = 1;
  spec.end = uint64_t{count} + 1;
  return spec;
}

namespace {

unsigned next_section(Member& member) {
  uint64_t first, last;
  if (!loop_next(member, &first, &last)) return 0;
  if (tool::there()) tool::section(member);
  return static_cast<unsigned>(first) + 1;
}

// Of a single without copyprivate nobody is told where it ends: a tool is told at the next barrier, or construct.
bool begin_single(Member& member) {
  const bool mine = single(member);
  if (tool::there()) {
    tool::work_begins(member, mine ? ompt_work_single_executor : ompt_work_single_other, 1);
    if (!mine) tool::work_ends(member);
  }
  return mine;
}

}  // namespace
}  // namespace weft::omp::gnu

using namespace weft::omp;
using gnu::Reductions;

WEFT_OMP_API unsigned GOMP_sections_start(unsigned count) {
  const tool::Entry entry(WEFT_OMP_CALLER);
  Member& member = this_member();
  loop_begin(member, gnu::sections_spec(count));
  gnu::tell_begin(member);
  return gnu::next_section(member);
}
WEFT_OMP_GNU(GOMP_sections_start, "GOMP_1.0")

WEFT_OMP_API unsigned GOMP_sections2_start(unsigned count, Reductions* reductions, void** mem) {
  const tool::Entry entry(WEFT_OMP_CALLER);
  Member& member = this_member();
  LoopSpec spec = gnu::sections_spec(count);
  gnu::enter(member, spec, reductions, mem);
  gnu::tell_begin(member);
  return gnu::next_section(member);
}
WEFT_OMP_GNU(GOMP_sections2_start, "GOMP_5.0")

WEFT_OMP_API unsigned GOMP_sections_next() {
  const tool::Entry entry(WEFT_OMP_CALLER);
  return gnu::next_section(this_member());
}
WEFT_OMP_GNU(GOMP_sections_next, "GOMP_1.0")

WEFT_OMP_API void GOMP_sections_end() {
  const tool::Entry entry(WEFT_OMP_CALLER);
  Member& member = this_member();
  gnu::finish(member);
  barrier(member, false, ompt_sync_region_barrier_implicit_workshare);
}
WEFT_OMP_GNU(GOMP_sections_end, "GOMP_1.0")

WEFT_OMP_API void GOMP_sections_end_nowait() {
  const tool::Entry entry(WEFT_OMP_CALLER);
  gnu::finish(this_member());
}
WEFT_OMP_GNU(GOMP_sections_end_nowait, "GOMP_1.0")

WEFT_OMP_API bool GOMP_sections_end_cancel() {
  const tool::Entry entry(WEFT_OMP_CALLER);
  Member& member = this_member();
  gnu::finish(member);
  return !barrier(member, true, ompt_sync_region_barrier_implicit_workshare);
}
WEFT_OMP_GNU(GOMP_sections_end_cancel, "GOMP_4.0")

WEFT_OMP_API bool GOMP_single_start() {
  const tool::Entry entry(WEFT_OMP_CALLER);
  return gnu::begin_single(this_member());
}
WEFT_OMP_GNU(GOMP_single_start, "GOMP_1.0")

// Null: the caller does the work, and calls the next one; the others get what it gives. The code has a barrier behind it.
WEFT_OMP_API void* GOMP_single_copy_start() {
  const tool::Entry entry(WEFT_OMP_CALLER);
  Member& member = this_member();
  return gnu::begin_single(member) ? nullptr : copyprivate(member, nullptr);
}
WEFT_OMP_GNU(GOMP_single_copy_start, "GOMP_1.0")

WEFT_OMP_API void GOMP_single_copy_end(void* data) {
  const tool::Entry entry(WEFT_OMP_CALLER);
  Member& member = this_member();
  if (tool::there()) tool::work_ends(member);
  copyprivate(member, data);
}
WEFT_OMP_GNU(GOMP_single_copy_end, "GOMP_1.0")

// Only of a scope with reductions over tasks: an empty loop, for what its members share.
WEFT_OMP_API void GOMP_scope_start(Reductions* reductions) {
  Member& member = this_member();
  LoopSpec spec;
  spec.chunk = 1;
  gnu::enter(member, spec, reductions, nullptr);
  loop_end(member);
}
WEFT_OMP_GNU(GOMP_scope_start, "GOMP_5.1")
