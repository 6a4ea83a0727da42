// cancel.cpp: cancellation. What is cancelled is what the compiler names; its code goes to the construct's end if told so.
#include "barrier.hpp"
#include "llvm/ident.hpp"
#include "region.hpp"
#include "task.hpp"
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

}  // namespace
}  // namespace weft::omp::llvm

using namespace weft::omp;
using namespace weft::omp::llvm;

WEFT_OMP_API int32_t __kmpc_cancel(Ident*, int32_t gtid, int32_t kind) {
  Member& member = *thread_of(gtid).member;
  switch (kind) {
    case kParallel:
      return cancel_region(member);
    case kLoop:
    case kSections:
      return member.loop_open && cancel_loop(member);
    case kTaskgroup:
      return cancel_group(member);
    default:
      return 0;
  }
}

WEFT_OMP_API int32_t __kmpc_cancellationpoint(Ident*, int32_t gtid, int32_t kind) {
  return cancelled(*thread_of(gtid).member, kind);
}

// Not 0: the region is cancelled.
WEFT_OMP_API int32_t __kmpc_cancel_barrier(Ident*, int32_t gtid) { return !barrier(*thread_of(gtid).member, true); }

WEFT_OMP_API int kmp_get_cancellation_status(int kind) { return cancelled(this_member(), kind); }
WEFT_OMP_API int kmp_get_cancellation_status_(int kind) { return cancelled(this_member(), kind); }
