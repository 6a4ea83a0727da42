// icv.cpp: what the program asks about internal control variables, and sets.
#include <algorithm>

#include "api/caller.hpp"
#include "api/fortran.hpp"

using namespace weft::omp;

WEFT_OMP_API int omp_get_max_threads() { return callers_icvs().nthreads; }
WEFT_OMP_PLAIN(omp_get_max_threads, "OMP_1.0")

WEFT_OMP_API void omp_set_num_threads(int n) { callers_own_icvs().nthreads = std::max(n, 1); }
WEFT_OMP_NUMBER(omp_set_num_threads, "OMP_1.0")

WEFT_OMP_API int omp_get_num_procs() { return device().procs; }
WEFT_OMP_PLAIN(omp_get_num_procs, "OMP_1.0")

WEFT_OMP_API int omp_get_thread_limit() { return callers_icvs().thread_limit; }
WEFT_OMP_PLAIN(omp_get_thread_limit, "OMP_3.0")

WEFT_OMP_API int omp_get_dynamic() { return callers_icvs().dynamic; }
WEFT_OMP_PLAIN(omp_get_dynamic, "OMP_1.0")

WEFT_OMP_API void omp_set_dynamic(int on) { callers_own_icvs().dynamic = on != 0; }
WEFT_OMP_NUMBER(omp_set_dynamic, "OMP_1.0")

// ---- levels

WEFT_OMP_API int omp_get_supported_active_levels() { return kMostLevels; }
WEFT_OMP_PLAIN(omp_get_supported_active_levels, "OMP_5.0.1")

WEFT_OMP_API int omp_get_max_active_levels() { return callers_icvs().max_active_levels; }
WEFT_OMP_PLAIN(omp_get_max_active_levels, "OMP_3.0")

WEFT_OMP_API void omp_set_max_active_levels(int levels) {
  if (levels >= 0) callers_own_icvs().max_active_levels = std::min(levels, kMostLevels);
}
WEFT_OMP_NUMBER(omp_set_max_active_levels, "OMP_3.0")

WEFT_OMP_API int omp_get_nested() {
  const Member* member = caller();
  const int levels = callers_icvs().max_active_levels;
  return levels > 1 && levels > (member != nullptr ? member->team->active_level : 0);
}
WEFT_OMP_PLAIN(omp_get_nested, "OMP_1.0")

WEFT_OMP_API void omp_set_nested(int on) {
  Icvs& icvs = callers_own_icvs();
  icvs.max_active_levels = on != 0 ? kMostLevels : std::min(icvs.max_active_levels, 1);
}
WEFT_OMP_NUMBER(omp_set_nested, "OMP_1.0")

// ---- schedule(runtime)

namespace {

constexpr uint32_t kMonotonic = 0x80000000;  // omp_sched_monotonic
constexpr uint32_t kStaticSteal = 102;       // of Intel's compilers

}  // namespace

WEFT_OMP_API void omp_set_schedule(uint32_t kind, int chunk) {
  Schedule schedule{.monotonic = (kind & kMonotonic) != 0, .given = true, .chunk = std::max(chunk, 0)};
  kind &= ~kMonotonic;
  if (kind == kStaticSteal) kind = static_cast<uint32_t>(Sched::kDynamic);
  if (kind > UINT8_MAX) return;
  schedule.kind = static_cast<Sched>(kind);
  switch (schedule.kind) {
    case Sched::kStatic: break;
    case Sched::kAuto: schedule.chunk = 0; break;
    case Sched::kDynamic:
    case Sched::kGuided:
    case Sched::kTrapezoidal: schedule.chunk = std::max(schedule.chunk, 1); break;
    default: return;
  }
  callers_own_icvs().run_sched = schedule;
}
WEFT_OMP_GNU(omp_set_schedule, "OMP_3.0")
WEFT_OMP_API void omp_set_schedule_(const uint32_t* kind, const int32_t* chunk) { omp_set_schedule(*kind, *chunk); }
WEFT_OMP_GNU(omp_set_schedule_, "OMP_3.0")
WEFT_OMP_API void omp_set_schedule_8_(const uint32_t* kind, const int64_t* chunk) { omp_set_schedule(*kind, to_int(*chunk)); }
WEFT_OMP_GNU(omp_set_schedule_8_, "OMP_3.0")

WEFT_OMP_API void omp_get_schedule(uint32_t* kind, int* chunk) {
  const Schedule& schedule = callers_icvs().run_sched;
  *kind = static_cast<uint32_t>(schedule.kind) | (schedule.monotonic ? kMonotonic : 0);
  *chunk = schedule.chunk;
}
WEFT_OMP_GNU(omp_get_schedule, "OMP_3.0")
WEFT_OMP_API void omp_get_schedule_(uint32_t* kind, int32_t* chunk) { omp_get_schedule(kind, chunk); }
WEFT_OMP_GNU(omp_get_schedule_, "OMP_3.0")
WEFT_OMP_API void omp_get_schedule_8_(uint32_t* kind, int64_t* chunk) {
  int narrow = 0;
  omp_get_schedule(kind, &narrow);
  *chunk = narrow;
}
WEFT_OMP_GNU(omp_get_schedule_8_, "OMP_3.0")

// ---- teams

WEFT_OMP_API int omp_get_max_teams() { return device().num_teams.load(std::memory_order_relaxed); }
WEFT_OMP_PLAIN(omp_get_max_teams, "OMP_5.1")

WEFT_OMP_API void omp_set_num_teams(int teams) {
  if (teams >= 0) device().num_teams.store(teams, std::memory_order_relaxed);
}
WEFT_OMP_NUMBER(omp_set_num_teams, "OMP_5.1")

WEFT_OMP_API int omp_get_teams_thread_limit() { return device().teams_thread_limit.load(std::memory_order_relaxed); }
WEFT_OMP_PLAIN(omp_get_teams_thread_limit, "OMP_5.1")

WEFT_OMP_API void omp_set_teams_thread_limit(int limit) {
  if (limit >= 0) device().teams_thread_limit.store(limit, std::memory_order_relaxed);
}
WEFT_OMP_NUMBER(omp_set_teams_thread_limit, "OMP_5.1")

// ---- constants of the process

WEFT_OMP_API int omp_get_cancellation() { return device().cancel; }
WEFT_OMP_PLAIN(omp_get_cancellation, "OMP_4.0")

WEFT_OMP_API int omp_get_max_task_priority() { return device().max_task_priority; }
WEFT_OMP_PLAIN(omp_get_max_task_priority, "OMP_4.5")

// ---- Of flang's: C's functions under a name of their own.

WEFT_OMP_API void ompc_set_num_threads(int n) { omp_set_num_threads(n); }
WEFT_OMP_API void ompc_set_dynamic(int on) { omp_set_dynamic(on); }
WEFT_OMP_API void ompc_set_nested(int on) { omp_set_nested(on); }
WEFT_OMP_API void ompc_set_max_active_levels(int levels) { omp_set_max_active_levels(levels); }
WEFT_OMP_API void ompc_set_schedule(uint32_t kind, int chunk) { omp_set_schedule(kind, chunk); }
