// sync.cpp: critical, atomic, barrier, cancel.
#include "barrier.hpp"
#include "export.hpp"
#include "lock_calls.hpp"
#include "region.hpp"
#include "task_end.hpp"
#include "team.hpp"

namespace weft::omp::gnu {
namespace {

// The compiler's; 1: parallel.
constexpr int kCancelLoop = 2;
constexpr int kCancelSections = 4;
constexpr int kCancelTaskgroup = 8;

// A loop with a static schedule the code deals out without telling us, so it is none of workshare.hpp's. But what can be
// cancelled ends with a barrier, so the number of barriers that a member has met tells which construct it is in.
uint32_t construct_of(const Member& member) { return member.barriers + 1; }

bool cancelled(const Member& member, int which) {
  if (which & (kCancelLoop | kCancelSections)) {
    return member.team->gnu_cancelled.load(std::memory_order_relaxed) == construct_of(member);
  }
  if (which & kCancelTaskgroup) return group_cancelled(member);
  return member.team->cancelled.load(std::memory_order_relaxed);
}

int flag_of(int which) {
  if (which & kCancelLoop) return ompt_cancel_loop;
  if (which & kCancelSections) return ompt_cancel_sections;
  return which & kCancelTaskgroup ? ompt_cancel_taskgroup : ompt_cancel_parallel;
}

}  // namespace
}  // namespace weft::omp::gnu

using namespace weft::omp;

WEFT_OMP_API void GOMP_critical_start() {
  call_acquire<ompt_mutex_critical>(critical_lock(nullptr), 0, WEFT_OMP_CALLER);
}
WEFT_OMP_GNU(GOMP_critical_start, "GOMP_1.0")

WEFT_OMP_API void GOMP_critical_end() {
  call_release<ompt_mutex_critical>(critical_lock(nullptr), WEFT_OMP_CALLER);
}
WEFT_OMP_GNU(GOMP_critical_end, "GOMP_1.0")

WEFT_OMP_API void GOMP_critical_name_start(void** cell) {
  call_acquire<ompt_mutex_critical>(critical_lock(cell), 0, WEFT_OMP_CALLER);
}
WEFT_OMP_GNU(GOMP_critical_name_start, "GOMP_1.0")

WEFT_OMP_API void GOMP_critical_name_end(void** cell) {
  call_release<ompt_mutex_critical>(critical_lock(cell), WEFT_OMP_CALLER);
}
WEFT_OMP_GNU(GOMP_critical_name_end, "GOMP_1.0")

WEFT_OMP_API void GOMP_atomic_start() {
  call_acquire<ompt_mutex_atomic>(atomic_lock, 0, WEFT_OMP_CALLER);
}
WEFT_OMP_GNU(GOMP_atomic_start, "GOMP_1.0")

WEFT_OMP_API void GOMP_atomic_end() {
  call_release<ompt_mutex_atomic>(atomic_lock, WEFT_OMP_CALLER);
}
WEFT_OMP_GNU(GOMP_atomic_end, "GOMP_1.0")

WEFT_OMP_API void GOMP_barrier() {
  const tool::Entry entry(WEFT_OMP_CALLER);
  barrier(this_member(), false, ompt_sync_region_barrier_explicit);
}
WEFT_OMP_GNU(GOMP_barrier, "GOMP_1.0")

// True: the region has been cancelled.
WEFT_OMP_API bool GOMP_barrier_cancel() {
  const tool::Entry entry(WEFT_OMP_CALLER);
  return !barrier(this_member(), true, ompt_sync_region_barrier_explicit);
}
WEFT_OMP_GNU(GOMP_barrier_cancel, "GOMP_4.0")

WEFT_OMP_API bool GOMP_cancellation_point(int which) {
  const tool::Entry entry(WEFT_OMP_CALLER);
  if (!device().cancel) return false;
  Member& member = this_member();
  const bool is = gnu::cancelled(member, which);
  if (is && tool::there()) tool::cancel(member, gnu::flag_of(which) | ompt_cancel_detected);
  return is;
}
WEFT_OMP_GNU(GOMP_cancellation_point, "GOMP_4.0")

// `now` is its if clause. True: the caller goes to the construct's end.
WEFT_OMP_API bool GOMP_cancel(int which, bool now) {
  const tool::Entry entry(WEFT_OMP_CALLER);
  if (!device().cancel) return false;
  Member& member = this_member();
  if (!now) return gnu::cancelled(member, which);
  if (tool::there()) tool::cancel(member, gnu::flag_of(which) | ompt_cancel_activated);
  if (which & (gnu::kCancelLoop | gnu::kCancelSections)) {
    member.team->gnu_cancelled.store(gnu::construct_of(member), std::memory_order_relaxed);
    return true;
  }
  if (which & gnu::kCancelTaskgroup) {
    // The program means its own group, not the one that a worksharing construct has for its reductions.
    TaskGroup* group = member.task->group;
    if (group && group->workshare && group->outer) group->outer->cancelled.store(true, std::memory_order_relaxed);
    return cancel_group(member);
  }
  return cancel_region(member);
}
WEFT_OMP_GNU(GOMP_cancel, "GOMP_4.0")
