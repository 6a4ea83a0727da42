// sync.cpp: barriers, single, master, masked, ordered, critical, flush.
#include <atomic>

#include "barrier.hpp"
#include "llvm/ident.hpp"
#include "lock.hpp"
#include "workshare.hpp"

using namespace weft::omp;
using namespace weft::omp::llvm;

namespace {

Member& member_of(int32_t gtid) { return *thread_of(gtid).member; }

}  // namespace

WEFT_OMP_API void __kmpc_barrier(Ident*, int32_t gtid) { barrier(member_of(gtid)); }

// Not 0 for one, for which the others wait until it says that it is done.
WEFT_OMP_API int32_t __kmpc_barrier_master(Ident*, int32_t gtid) {
  Member& member = member_of(gtid);
  barrier(member);
  if (member.num == 0) return 1;
  barrier(member);
  return 0;
}
WEFT_OMP_API void __kmpc_end_barrier_master(Ident*, int32_t gtid) { barrier(member_of(gtid)); }

WEFT_OMP_API int32_t __kmpc_barrier_master_nowait(Ident*, int32_t gtid) {
  Member& member = member_of(gtid);
  barrier(member);
  return member.num == 0;
}

WEFT_OMP_API int32_t __kmpc_single(Ident*, int32_t gtid) { return single(member_of(gtid)); }
WEFT_OMP_API void __kmpc_end_single(Ident*, int32_t) {}

WEFT_OMP_API void __kmpc_copyprivate(Ident*, int32_t gtid, size_t, void* mine, void (*copy)(void* to, void* from),
                                     int32_t did_it) {
  Member& member = member_of(gtid);
  void* from = copyprivate(member, did_it != 0 ? mine : nullptr);
  if (did_it == 0) copy(mine, from);
  copyprivate_done(member);
}

// The compiler copies, and has a barrier of its own behind that.
WEFT_OMP_API void* __kmpc_copyprivate_light(Ident*, int32_t gtid, void* mine) {
  Member& member = member_of(gtid);
  void* from = copyprivate(member, mine);
  copyprivate_done(member);
  return from;
}

WEFT_OMP_API int32_t __kmpc_master(Ident*, int32_t gtid) { return member_of(gtid).num == 0; }
WEFT_OMP_API void __kmpc_end_master(Ident*, int32_t) {}
WEFT_OMP_API int32_t __kmpc_masked(Ident*, int32_t gtid, int32_t filter) { return member_of(gtid).num == filter; }
WEFT_OMP_API void __kmpc_end_masked(Ident*, int32_t) {}
WEFT_OMP_API void __kmpc_scope(Ident*, int32_t, void*) {}
WEFT_OMP_API void __kmpc_end_scope(Ident*, int32_t, void*) {}

// Outside of an ordered loop it is nothing: the region may be orphaned.
WEFT_OMP_API void __kmpc_ordered(Ident*, int32_t gtid) {
  Member& member = member_of(gtid);
  if (member.loop_open) ordered_begin(member);
}
WEFT_OMP_API void __kmpc_end_ordered(Ident*, int32_t gtid) {
  Member& member = member_of(gtid);
  if (member.loop_open) ordered_end(member);
}

WEFT_OMP_API void __kmpc_critical(Ident*, int32_t, CriticalName* name) { lock_acquire(critical_lock(name)); }
WEFT_OMP_API void __kmpc_critical_with_hint(Ident*, int32_t, CriticalName* name, uint32_t) {
  lock_acquire(critical_lock(name));
}
WEFT_OMP_API void __kmpc_end_critical(Ident*, int32_t, CriticalName* name) { lock_release(critical_lock(name)); }

WEFT_OMP_API void __kmpc_flush(Ident*) { std::atomic_thread_fence(std::memory_order_seq_cst); }
