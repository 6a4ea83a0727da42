// cancel.cpp: cancellation. What is cancelled is what the compiler names; its code goes to the construct's end if told so.
#include "barrier.hpp"
#include "llvm/ident.hpp"
#include "region.hpp"
#include "task_end.hpp"
#include "workshare.hpp"

namespace weft::omp::llvm {
namespace {

enum Kind : int32_t { kNothing, kParallel, kLoop, kSections, kTaskgroup };

bool cancelled(const Member& member, int32_t kind) {
  if (!device().cancel) return false;
  switch (kind) {
    case kParallel:
      return member.team->cancelled.load(std::memory_order_acquire);  // pairs with cancel_region()
    case kLoop:
    case kSections:
      return member.loop_open && loop_cancelled(member);
    case kTaskgroup:
      return group_cancelled(member);
    default:
      return false;
  }
}

bool cancel(Member& member, int32_t kind) {
  switch (kind) {
    case kParallel:
      return cancel_region(member);
    case kLoop:
    case kSections:
      return member.loop_open && cancel_loop(member);
    case kTaskgroup:
      return cancel_group(member);
    default:
      return false;
  }
}

int flag_of(int32_t kind) {
  switch (kind) {
    case kParallel: return ompt_cancel_parallel;
    case kSections: return ompt_cancel_sections;
    case kTaskgroup: return ompt_cancel_taskgroup;
    default: return ompt_cancel_loop;
  }
}

}  // namespace
}  // namespace weft::omp::llvm

using namespace weft::omp;
using namespace weft::omp::llvm;

WEFT_OMP_API int32_t __kmpc_cancel(Ident*, int32_t gtid, int32_t kind) {
  const tool::Entry entry(WEFT_OMP_CALLER);
  Member& member = *thread_of(gtid).member;
  const bool done = cancel(member, kind);
  if (done && tool::there()) tool::cancel(member, flag_of(kind) | ompt_cancel_activated);
  return done;
}

WEFT_OMP_API int32_t __kmpc_cancellationpoint(Ident*, int32_t gtid, int32_t kind) {
  const tool::Entry entry(WEFT_OMP_CALLER);
  Member& member = *thread_of(gtid).member;
  const bool is = cancelled(member, kind);
  if (is && tool::there()) tool::cancel(member, flag_of(kind) | ompt_cancel_detected);
  return is;
}

// Not 0: the region is cancelled.
WEFT_OMP_API int32_t __kmpc_cancel_barrier(Ident*, int32_t gtid) {
  const tool::Entry entry(WEFT_OMP_CALLER);
  return !barrier(*thread_of(gtid).member, true);
}

WEFT_OMP_API int kmp_get_cancellation_status(int kind) { return cancelled(this_member(), kind); }
WEFT_OMP_API int kmp_get_cancellation_status_(int kind) { return cancelled(this_member(), kind); }
