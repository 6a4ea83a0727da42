// loop_ull.cpp: loops whose variable is an unsigned long long.
#include "export.hpp"
#include "gnu/loop.hpp"

namespace weft::omp::gnu {
namespace {

bool start_ull(long sched, bool up, Ull first, Ull end, Ull incr, Ull chunk, Ull* istart, Ull* iend) {
  Member& member = this_member();
  return start(member, ull_spec(member, sched, up, first, end, incr, chunk), istart, iend);
}

}  // namespace
}  // namespace weft::omp::gnu

using namespace weft::omp;
using gnu::Reductions;
using gnu::Ull;

#define WEFT_LOOP_START(name, sched, version)                                                                           \
  WEFT_OMP_API bool GOMP_loop_ull_##name##_start(bool up, Ull start, Ull end, Ull incr, Ull chunk, Ull* istart, \
                                                 Ull* iend) {                                                           \
    const tool::Entry entry(WEFT_OMP_CALLER);                                                                           \
    return gnu::start_ull(gnu::sched, up, start, end, incr, chunk, istart, iend);                                       \
  }                                                                                                                     \
  WEFT_OMP_GNU(GOMP_loop_ull_##name##_start, version)

#define WEFT_LOOP_RUNTIME_START(name, version)                                                                        \
  WEFT_OMP_API bool GOMP_loop_ull_##name##_start(bool up, Ull start, Ull end, Ull incr, Ull* istart, Ull* iend) { \
    const tool::Entry entry(WEFT_OMP_CALLER);                                                                         \
    return gnu::start_ull(gnu::kSchedRuntime, up, start, end, incr, 0, istart, iend);                                 \
  }                                                                                                                   \
  WEFT_OMP_GNU(GOMP_loop_ull_##name##_start, version)

#define WEFT_LOOP_NEXT(name, version)                                                                             \
  WEFT_OMP_API bool GOMP_loop_ull_##name##_next(Ull* istart, Ull* iend) { return gnu::next(istart, iend); } \
  WEFT_OMP_GNU(GOMP_loop_ull_##name##_next, version)

WEFT_LOOP_START(static, kSchedStatic, "GOMP_2.0")
WEFT_LOOP_START(dynamic, kSchedDynamic, "GOMP_2.0")
WEFT_LOOP_START(guided, kSchedGuided, "GOMP_2.0")
WEFT_LOOP_START(nonmonotonic_dynamic, kSchedDynamic, "GOMP_4.5")
WEFT_LOOP_START(nonmonotonic_guided, kSchedGuided, "GOMP_4.5")
WEFT_LOOP_RUNTIME_START(runtime, "GOMP_2.0")
WEFT_LOOP_RUNTIME_START(nonmonotonic_runtime, "GOMP_5.0")
WEFT_LOOP_RUNTIME_START(maybe_nonmonotonic_runtime, "GOMP_5.0")

WEFT_LOOP_NEXT(static, "GOMP_2.0")
WEFT_LOOP_NEXT(dynamic, "GOMP_2.0")
WEFT_LOOP_NEXT(guided, "GOMP_2.0")
WEFT_LOOP_NEXT(runtime, "GOMP_2.0")
WEFT_LOOP_NEXT(nonmonotonic_dynamic, "GOMP_4.5")
WEFT_LOOP_NEXT(nonmonotonic_guided, "GOMP_4.5")
WEFT_LOOP_NEXT(nonmonotonic_runtime, "GOMP_5.0")
WEFT_LOOP_NEXT(maybe_nonmonotonic_runtime, "GOMP_5.0")

WEFT_OMP_API bool GOMP_loop_ull_start(bool up, Ull start, Ull end, Ull incr, long sched, Ull chunk, Ull* istart, Ull* iend,
                                      Reductions* reductions, void** mem) {
  const tool::Entry entry(WEFT_OMP_CALLER);
  Member& member = this_member();
  LoopSpec spec = gnu::ull_spec(member, sched, up, start, end, incr, chunk);
  gnu::enter(member, spec, reductions, mem);
  gnu::tell_begin(member);
  return istart ? gnu::next(member, istart, iend) : true;
}
WEFT_OMP_GNU(GOMP_loop_ull_start, "GOMP_5.0")
