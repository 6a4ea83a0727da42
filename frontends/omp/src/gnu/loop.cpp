// loop.cpp: loops whose variable is a long, or smaller.
#include "gnu/loop.hpp"

#include "barrier.hpp"
#include "export.hpp"
#include "gnu/reduction.hpp"

namespace weft::omp::gnu {

LoopSpec make_spec(const Member& member, long sched, uint64_t trip, uint64_t chunk) {
  LoopSpec spec;
  switch (sched & 0x7fffffff) {
    case kSchedStatic: spec.deal = Deal::kStatic; break;
    case kSchedDynamic: spec.deal = Deal::kDynamic; break;
    case kSchedGuided: spec.deal = Deal::kGuided; break;
    default:
      if (icvs_of(member).run_sched.given) return runtime_spec(member, trip);
      spec.deal = Deal::kDynamic;  // libgomp's, where nobody has said anything
  }
  spec.trip = trip;
  spec.chunk = chunk;
  return spec;
}

void enter(Member& member, LoopSpec& spec, Reductions* reductions, void** mem) {
  if (mem) spec.memory = reinterpret_cast<size_t>(*mem);
  if (reductions) {
    spec.gnu = reductions;
    spec.made = allocate_for_team;
    workshare_group_begin(member);
  }
  loop_begin(member, spec);
  if (reductions) workshare_group_join(member, reductions, static_cast<Reductions*>(member.share->gnu));
  if (mem) *mem = member.share->memory;
}

namespace {

bool start_long(long sched, long first, long end, long incr, long chunk, long* istart, long* iend) {
  Member& member = this_member();
  return start(member, long_spec(member, sched, first, end, incr, chunk), istart, iend);
}

}  // namespace
}  // namespace weft::omp::gnu

using namespace weft::omp;
using gnu::Reductions;

#define WEFT_LOOP_START(name, sched, version)                                                                          \
  WEFT_OMP_API bool GOMP_loop_##name##_start(long start, long end, long incr, long chunk, long* istart, long* iend) { \
    const tool::Entry entry(WEFT_OMP_CALLER);                                                                          \
    return gnu::start_long(gnu::sched, start, end, incr, chunk, istart, iend);                                         \
  }                                                                                                                    \
  WEFT_OMP_GNU(GOMP_loop_##name##_start, version)

#define WEFT_LOOP_RUNTIME_START(name, version)                                                             \
  WEFT_OMP_API bool GOMP_loop_##name##_start(long start, long end, long incr, long* istart, long* iend) { \
    const tool::Entry entry(WEFT_OMP_CALLER);                                                              \
    return gnu::start_long(gnu::kSchedRuntime, start, end, incr, 0, istart, iend);                         \
  }                                                                                                        \
  WEFT_OMP_GNU(GOMP_loop_##name##_start, version)

#define WEFT_LOOP_NEXT(name, version)                                                                           \
  WEFT_OMP_API bool GOMP_loop_##name##_next(long* istart, long* iend) { return gnu::next(istart, iend); } \
  WEFT_OMP_GNU(GOMP_loop_##name##_next, version)

WEFT_LOOP_START(static, kSchedStatic, "GOMP_1.0")
WEFT_LOOP_START(dynamic, kSchedDynamic, "GOMP_1.0")
WEFT_LOOP_START(guided, kSchedGuided, "GOMP_1.0")
WEFT_LOOP_START(nonmonotonic_dynamic, kSchedDynamic, "GOMP_4.5")
WEFT_LOOP_START(nonmonotonic_guided, kSchedGuided, "GOMP_4.5")
WEFT_LOOP_RUNTIME_START(runtime, "GOMP_1.0")
WEFT_LOOP_RUNTIME_START(nonmonotonic_runtime, "GOMP_5.0")
WEFT_LOOP_RUNTIME_START(maybe_nonmonotonic_runtime, "GOMP_5.0")

WEFT_LOOP_NEXT(static, "GOMP_1.0")
WEFT_LOOP_NEXT(dynamic, "GOMP_1.0")
WEFT_LOOP_NEXT(guided, "GOMP_1.0")
WEFT_LOOP_NEXT(runtime, "GOMP_1.0")
WEFT_LOOP_NEXT(nonmonotonic_dynamic, "GOMP_4.5")
WEFT_LOOP_NEXT(nonmonotonic_guided, "GOMP_4.5")
WEFT_LOOP_NEXT(nonmonotonic_runtime, "GOMP_5.0")
WEFT_LOOP_NEXT(maybe_nonmonotonic_runtime, "GOMP_5.0")

// Without istart it only enters: the code deals out a static schedule itself.
WEFT_OMP_API bool GOMP_loop_start(long start, long end, long incr, long sched, long chunk, long* istart, long* iend,
                                  Reductions* reductions, void** mem) {
  const tool::Entry entry(WEFT_OMP_CALLER);
  Member& member = this_member();
  LoopSpec spec = gnu::long_spec(member, sched, start, end, incr, chunk);
  gnu::enter(member, spec, reductions, mem);
  gnu::tell_begin(member);
  return istart ? gnu::next(member, istart, iend) : true;
}
WEFT_OMP_GNU(GOMP_loop_start, "GOMP_5.0")

WEFT_OMP_API void GOMP_loop_end() {
  const tool::Entry entry(WEFT_OMP_CALLER);
  Member& member = this_member();
  gnu::finish(member);
  barrier(member, false, ompt_sync_region_barrier_implicit_workshare);
}
WEFT_OMP_GNU(GOMP_loop_end, "GOMP_1.0")

WEFT_OMP_API void GOMP_loop_end_nowait() {
  const tool::Entry entry(WEFT_OMP_CALLER);
  gnu::finish(this_member());
}
WEFT_OMP_GNU(GOMP_loop_end_nowait, "GOMP_1.0")

// True: the region has been cancelled.
WEFT_OMP_API bool GOMP_loop_end_cancel() {
  const tool::Entry entry(WEFT_OMP_CALLER);
  Member& member = this_member();
  gnu::finish(member);
  return !barrier(member, true, ompt_sync_region_barrier_implicit_workshare);
}
WEFT_OMP_GNU(GOMP_loop_end_cancel, "GOMP_4.0")
