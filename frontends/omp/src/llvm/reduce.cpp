// reduce.cpp: reductions of regions and loops.
//
// The compiler has made code for each way to combine, and asks which one to take: 1: as it likes, alone (it then calls the
// end); 2: with atomics; 0: nothing, somebody else has done it. Here each member combines its own values, under the lock or
// with atomics: a tree would need the data of others, whose stacks may not have run yet.
#include "barrier.hpp"
#include "llvm/ident.hpp"
#include "lock.hpp"
#include "team.hpp"

namespace weft::omp::llvm {
namespace {

enum Way : uint8_t { kAlone, kLocked, kAtomic };

// A team of one in a league has the other teams beside it.
bool alone(const Team& team) { return team.n == 1 && team.league_size == 1; }

int32_t begin(const Ident* ident, Member& member, CriticalName* name) {
  if (tool::there()) tool::reduction(member, ompt_scope_begin);
  if (alone(*member.team)) {
    member.reduction = kAlone;
    return 1;
  }
  // With atomics the code does not say when it is done. A tool wants to know.
  if (ident != nullptr && (ident->flags & kIdentAtomicReduce) != 0 && !tool::there()) {
    member.reduction = kAtomic;
    return 2;
  }
  lock_acquire(critical_lock(name));
  member.reduction = kLocked;
  return 1;
}

void end(Member& member, CriticalName* name) {
  if (member.reduction == kLocked) lock_release(critical_lock(name));
  member.reduction = kAlone;
  if (tool::there()) tool::reduction(member, ompt_scope_end);
}

}  // namespace
}  // namespace weft::omp::llvm

using namespace weft::omp;
using namespace weft::omp::llvm;

WEFT_OMP_API int32_t __kmpc_reduce_nowait(Ident* ident, int32_t gtid, int32_t, size_t, void*, void (*)(void*, void*),
                                          CriticalName* name) {
  const tool::Entry entry(WEFT_OMP_CALLER);
  return begin(ident, *thread_of(gtid).member, name);
}
WEFT_OMP_API void __kmpc_end_reduce_nowait(Ident*, int32_t gtid, CriticalName* name) {
  const tool::Entry entry(WEFT_OMP_CALLER);
  end(*thread_of(gtid).member, name);
}

// With a barrier at its end.
WEFT_OMP_API int32_t __kmpc_reduce(Ident* ident, int32_t gtid, int32_t, size_t, void*, void (*)(void*, void*),
                                   CriticalName* name) {
  const tool::Entry entry(WEFT_OMP_CALLER);
  return begin(ident, *thread_of(gtid).member, name);
}
WEFT_OMP_API void __kmpc_end_reduce(Ident*, int32_t gtid, CriticalName* name) {
  const tool::Entry entry(WEFT_OMP_CALLER);
  Member& member = *thread_of(gtid).member;
  end(member, name);
  barrier(member);
}

// libomp's number for the lock.
WEFT_OMP_API int32_t __kmp_get_reduce_method() { return 1; }
