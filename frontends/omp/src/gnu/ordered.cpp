// ordered.cpp: loops with an ordered clause, and what is ordered in them.
#include "export.hpp"
#include "gnu/loop.hpp"
#include "gnu/reduction.hpp"

namespace weft::omp::gnu {
namespace {

bool start_long(long sched, long first, long end, long incr, long chunk, long* istart, long* iend) {
  Member& member = this_member();
  LoopSpec spec = long_spec(member, sched, first, end, incr, chunk);
  spec.ordered = true;
  return start(member, spec, istart, iend);
}

bool start_ull(long sched, bool up, Ull first, Ull end, Ull incr, Ull chunk, Ull* istart, Ull* iend) {
  Member& member = this_member();
  LoopSpec spec = ull_spec(member, sched, up, first, end, incr, chunk);
  spec.ordered = true;
  return start(member, spec, istart, iend);
}

}  // namespace
}  // namespace weft::omp::gnu

using namespace weft::omp;
using gnu::Reductions;
using gnu::Ull;

#define WEFT_ORDERED(name, sched)                                                                                      \
  WEFT_OMP_API bool GOMP_loop_ordered_##name##_start(long start, long end, long incr, long chunk, long* istart, \
                                                     long* iend) {                                                     \
    const tool::Entry entry(WEFT_OMP_CALLER);                                                                          \
    return gnu::start_long(gnu::sched, start, end, incr, chunk, istart, iend);                                         \
  }                                                                                                                    \
  WEFT_OMP_GNU(GOMP_loop_ordered_##name##_start, "GOMP_1.0")                                                           \
  WEFT_OMP_API bool GOMP_loop_ull_ordered_##name##_start(bool up, Ull start, Ull end, Ull incr, Ull chunk,      \
                                                         Ull* istart, Ull* iend) {                                     \
    const tool::Entry entry(WEFT_OMP_CALLER);                                                                          \
    return gnu::start_ull(gnu::sched, up, start, end, incr, chunk, istart, iend);                                      \
  }                                                                                                                    \
  WEFT_OMP_GNU(GOMP_loop_ull_ordered_##name##_start, "GOMP_2.0")

#define WEFT_ORDERED_NEXT(name)                                                                                            \
  WEFT_OMP_API bool GOMP_loop_ordered_##name##_next(long* istart, long* iend) { return gnu::next(istart, iend); }   \
  WEFT_OMP_GNU(GOMP_loop_ordered_##name##_next, "GOMP_1.0")                                                                \
  WEFT_OMP_API bool GOMP_loop_ull_ordered_##name##_next(Ull* istart, Ull* iend) { return gnu::next(istart, iend); } \
  WEFT_OMP_GNU(GOMP_loop_ull_ordered_##name##_next, "GOMP_2.0")

WEFT_ORDERED(static, kSchedStatic)
WEFT_ORDERED(dynamic, kSchedDynamic)
WEFT_ORDERED(guided, kSchedGuided)
WEFT_ORDERED_NEXT(static)
WEFT_ORDERED_NEXT(dynamic)
WEFT_ORDERED_NEXT(guided)
WEFT_ORDERED_NEXT(runtime)

WEFT_OMP_API bool GOMP_loop_ordered_runtime_start(long start, long end, long incr, long* istart, long* iend) {
  const tool::Entry entry(WEFT_OMP_CALLER);
  return gnu::start_long(gnu::kSchedRuntime, start, end, incr, 0, istart, iend);
}
WEFT_OMP_GNU(GOMP_loop_ordered_runtime_start, "GOMP_1.0")

WEFT_OMP_API bool GOMP_loop_ull_ordered_runtime_start(bool up, Ull start, Ull end, Ull incr, Ull* istart, Ull* iend) {
  const tool::Entry entry(WEFT_OMP_CALLER);
  return gnu::start_ull(gnu::kSchedRuntime, up, start, end, incr, 0, istart, iend);
}
WEFT_OMP_GNU(GOMP_loop_ull_ordered_runtime_start, "GOMP_2.0")

WEFT_OMP_API bool GOMP_loop_ordered_start(long start, long end, long incr, long sched, long chunk, long* istart,
                                          long* iend, Reductions* reductions, void** mem) {
  const tool::Entry entry(WEFT_OMP_CALLER);
  Member& member = this_member();
  LoopSpec spec = gnu::long_spec(member, sched, start, end, incr, chunk);
  spec.ordered = true;
  gnu::enter(member, spec, reductions, mem);
  gnu::tell_begin(member);
  return gnu::next(member, istart, iend);
}
WEFT_OMP_GNU(GOMP_loop_ordered_start, "GOMP_5.0")

WEFT_OMP_API bool GOMP_loop_ull_ordered_start(bool up, Ull start, Ull end, Ull incr, long sched, Ull chunk, Ull* istart,
                                              Ull* iend, Reductions* reductions, void** mem) {
  const tool::Entry entry(WEFT_OMP_CALLER);
  Member& member = this_member();
  LoopSpec spec = gnu::ull_spec(member, sched, up, start, end, incr, chunk);
  spec.ordered = true;
  gnu::enter(member, spec, reductions, mem);
  gnu::tell_begin(member);
  return gnu::next(member, istart, iend);
}
WEFT_OMP_GNU(GOMP_loop_ull_ordered_start, "GOMP_5.0")

namespace {

[[gnu::noinline, gnu::cold]] void start_seen(const void* from, void* frame) {
  const tool::Entry entry(from, frame);
  ordered_begin_seen(this_member());
}

[[gnu::noinline, gnu::cold]] void end_seen(const void* from, void* frame) {
  const tool::Entry entry(from, frame);
  ordered_end_seen(this_member());
}

}  // namespace

WEFT_OMP_API void GOMP_ordered_start() { tool::there() ? start_seen(WEFT_OMP_CALLER) : ordered_begin(this_member()); }
WEFT_OMP_GNU(GOMP_ordered_start, "GOMP_1.0")

WEFT_OMP_API void GOMP_ordered_end() {
  if (tool::there()) end_seen(WEFT_OMP_CALLER);
}
WEFT_OMP_GNU(GOMP_ordered_end, "GOMP_1.0")
