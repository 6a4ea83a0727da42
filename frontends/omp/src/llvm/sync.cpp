// sync.cpp: barriers, single, master, masked, ordered, critical, flush.
#include <atomic>

#include "barrier.hpp"
#include "llvm/ident.hpp"
#include "lock_calls.hpp"
#include "workshare.hpp"

using namespace weft::omp;
using namespace weft::omp::llvm;

namespace {

Member& member_of(int32_t gtid) { return *thread_of(gtid).member; }

ompt_sync_region_t kind_of(const Ident* ident) {
  if (ident == nullptr) return ompt_sync_region_barrier_implementation;
  if ((ident->flags & kIdentExplicitBarrier) != 0) return ompt_sync_region_barrier_explicit;
  if ((ident->flags & kIdentImplicitBarrier) != 0) return ompt_sync_region_barrier_implicit_workshare;
  return ompt_sync_region_barrier_implementation;
}

}  // namespace

WEFT_OMP_API void __kmpc_barrier(Ident* ident, int32_t gtid) {
  const tool::Entry entry(WEFT_OMP_CALLER);
  barrier(member_of(gtid), false, kind_of(ident));
}

// Not 0 for one, for which the others wait until it says that it is done.
WEFT_OMP_API int32_t __kmpc_barrier_master(Ident*, int32_t gtid) {
  const tool::Entry entry(WEFT_OMP_CALLER);
  Member& member = member_of(gtid);
  barrier(member);
  if (member.num == 0) return 1;
  barrier(member);
  return 0;
}
WEFT_OMP_API void __kmpc_end_barrier_master(Ident*, int32_t gtid) {
  const tool::Entry entry(WEFT_OMP_CALLER);
  barrier(member_of(gtid));
}

WEFT_OMP_API int32_t __kmpc_barrier_master_nowait(Ident*, int32_t gtid) {
  const tool::Entry entry(WEFT_OMP_CALLER);
  Member& member = member_of(gtid);
  barrier(member);
  return member.num == 0;
}

WEFT_OMP_API int32_t __kmpc_single(Ident*, int32_t gtid) {
  const tool::Entry entry(WEFT_OMP_CALLER);
  Member& member = member_of(gtid);
  const bool mine = single(member);
  if (tool::there()) {
    tool::work(member, mine ? ompt_work_single_executor : ompt_work_single_other, ompt_scope_begin);
    if (!mine) tool::work(member, ompt_work_single_other, ompt_scope_end);
  }
  return mine;
}
WEFT_OMP_API void __kmpc_end_single(Ident*, int32_t gtid) {
  const tool::Entry entry(WEFT_OMP_CALLER);
  if (tool::there()) tool::work(member_of(gtid), ompt_work_single_executor, ompt_scope_end);
}

WEFT_OMP_API void __kmpc_copyprivate(Ident*, int32_t gtid, size_t, void* mine, void (*copy)(void* to, void* from),
                                     int32_t did_it) {
  const tool::Entry entry(WEFT_OMP_CALLER);
  Member& member = member_of(gtid);
  void* from = copyprivate(member, did_it != 0 ? mine : nullptr);
  if (did_it == 0) copy(mine, from);
  copyprivate_done(member);
}

// The compiler copies, and has a barrier of its own behind that.
WEFT_OMP_API void* __kmpc_copyprivate_light(Ident*, int32_t gtid, void* mine) {
  const tool::Entry entry(WEFT_OMP_CALLER);
  Member& member = member_of(gtid);
  void* from = copyprivate(member, mine);
  copyprivate_done(member);
  return from;
}

WEFT_OMP_API int32_t __kmpc_masked(Ident*, int32_t gtid, int32_t filter) {
  const tool::Entry entry(WEFT_OMP_CALLER);
  Member& member = member_of(gtid);
  const bool mine = member.num == filter;
  if (mine && tool::there()) tool::masked(member, ompt_scope_begin);
  return mine;
}
WEFT_OMP_API void __kmpc_end_masked(Ident*, int32_t gtid) {
  const tool::Entry entry(WEFT_OMP_CALLER);
  if (tool::there()) tool::masked(member_of(gtid), ompt_scope_end);
}
WEFT_OMP_API int32_t __kmpc_master(Ident*, int32_t gtid) {
  const tool::Entry entry(WEFT_OMP_CALLER);
  Member& member = member_of(gtid);
  if (member.num != 0) return 0;
  if (tool::there()) tool::masked(member, ompt_scope_begin);
  return 1;
}
WEFT_OMP_API void __kmpc_end_master(Ident*, int32_t gtid) {
  const tool::Entry entry(WEFT_OMP_CALLER);
  if (tool::there()) tool::masked(member_of(gtid), ompt_scope_end);
}
WEFT_OMP_API void __kmpc_scope(Ident*, int32_t gtid, void*) {
  const tool::Entry entry(WEFT_OMP_CALLER);
  if (tool::there()) tool::work(member_of(gtid), ompt_work_scope, ompt_scope_begin);
}
WEFT_OMP_API void __kmpc_end_scope(Ident*, int32_t gtid, void*) {
  const tool::Entry entry(WEFT_OMP_CALLER);
  if (tool::there()) tool::work(member_of(gtid), ompt_work_scope, ompt_scope_end);
}

namespace {

[[gnu::noinline, gnu::cold]] void ordered_seen(int32_t gtid, const void* from, void* frame) {
  const tool::Entry entry(from, frame);
  Member& member = member_of(gtid);
  ordered_begin_seen(member, member.loop_open);
}

[[gnu::noinline, gnu::cold]] void end_ordered_seen(int32_t gtid, const void* from, void* frame) {
  const tool::Entry entry(from, frame);
  ordered_end_seen(member_of(gtid));
}

}  // namespace

// Outside of a loop there is nobody to wait for.
WEFT_OMP_API void __kmpc_ordered(Ident*, int32_t gtid) {
  if (tool::there()) return ordered_seen(gtid, WEFT_OMP_CALLER);
  Member& member = member_of(gtid);
  ordered_begin(member, member.loop_open);
}
WEFT_OMP_API void __kmpc_end_ordered(Ident*, int32_t gtid) {
  if (tool::there()) end_ordered_seen(gtid, WEFT_OMP_CALLER);
}

WEFT_OMP_API void __kmpc_critical(Ident*, int32_t, CriticalName* name) {
  call_acquire<ompt_mutex_critical>(critical_lock(name), 0, WEFT_OMP_CALLER);
}
WEFT_OMP_API void __kmpc_critical_with_hint(Ident*, int32_t, CriticalName* name, uint32_t hint) {
  call_acquire<ompt_mutex_critical>(critical_lock(name), hint, WEFT_OMP_CALLER);
}
WEFT_OMP_API void __kmpc_end_critical(Ident*, int32_t, CriticalName* name) {
  call_release<ompt_mutex_critical>(critical_lock(name), WEFT_OMP_CALLER);
}

WEFT_OMP_API void __kmpc_flush(Ident*) {
  const tool::Entry entry(WEFT_OMP_CALLER);
  std::atomic_thread_fence(std::memory_order_seq_cst);
  if (tool::there()) tool::flush();
}
