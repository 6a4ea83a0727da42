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
  spec.start = 1;
  spec.end = uint64_t{count} + 1;
  return spec;
}

namespace {

unsigned next_section(Member& member) {
  uint64_t first, last;
  return loop_next(member, &first, &last) ? static_cast<unsigned>(first) + 1 : 0;
}

}  // namespace
}  // namespace weft::omp::gnu

using namespace weft::omp;
using gnu::Reductions;

WEFT_OMP_API unsigned GOMP_sections_start(unsigned count) {
  Member& member = this_member();
  loop_begin(member, gnu::sections_spec(count));
  return gnu::next_section(member);
}
WEFT_OMP_GNU(GOMP_sections_start, "GOMP_1.0")

WEFT_OMP_API unsigned GOMP_sections2_start(unsigned count, Reductions* reductions, void** mem) {
  Member& member = this_member();
  LoopSpec spec = gnu::sections_spec(count);
  gnu::enter(member, spec, reductions, mem);
  return gnu::next_section(member);
}
WEFT_OMP_GNU(GOMP_sections2_start, "GOMP_5.0")

WEFT_OMP_API unsigned GOMP_sections_next() { return gnu::next_section(this_member()); }
WEFT_OMP_GNU(GOMP_sections_next, "GOMP_1.0")

WEFT_OMP_API void GOMP_sections_end() {
  Member& member = this_member();
  loop_end(member);
  barrier(member);
}
WEFT_OMP_GNU(GOMP_sections_end, "GOMP_1.0")

WEFT_OMP_API void GOMP_sections_end_nowait() { loop_end(this_member()); }
WEFT_OMP_GNU(GOMP_sections_end_nowait, "GOMP_1.0")

WEFT_OMP_API bool GOMP_sections_end_cancel() {
  Member& member = this_member();
  loop_end(member);
  return !barrier(member, true);
}
WEFT_OMP_GNU(GOMP_sections_end_cancel, "GOMP_4.0")

WEFT_OMP_API bool GOMP_single_start() { return single(this_member()); }
WEFT_OMP_GNU(GOMP_single_start, "GOMP_1.0")

// Null: the caller does the work, and calls the next one; the others get what it gives. The code has a barrier behind it.
WEFT_OMP_API void* GOMP_single_copy_start() {
  Member& member = this_member();
  return single(member) ? nullptr : copyprivate(member, nullptr);
}
WEFT_OMP_GNU(GOMP_single_copy_start, "GOMP_1.0")

WEFT_OMP_API void GOMP_single_copy_end(void* data) { copyprivate(this_member(), data); }
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
