// doacross.cpp: ordered(n) with depend(source) and depend(sink: …), or doacross().
//
// The compiler tells of the nest before the loop begins, and of the loop through for_static_init or dispatch_init; both are
// one construct, which enter_loop() puts together. Where neither is called the first use of the nest enters it.
#include "llvm/doacross.hpp"

#include <cstdlib>
#include <cstring>

#include "llvm/loop.hpp"

namespace weft::omp::llvm {
namespace {

Doacross* make_nest(int32_t dims, const KmpDim* bounds) {
  const size_t n = static_cast<size_t>(dims);
  char* memory = static_cast<char*>(std::malloc(sizeof(Doacross) + n * (sizeof(KmpDim) + sizeof(uint64_t) + sizeof(int64_t))));
  if (memory == nullptr) std::abort();
  Doacross* nest = new (memory) Doacross;
  nest->dims = static_cast<unsigned>(dims);
  nest->bounds = reinterpret_cast<KmpDim*>(nest + 1);
  nest->counts = reinterpret_cast<uint64_t*>(nest->bounds + n);
  nest->point = reinterpret_cast<int64_t*>(nest->counts + n);
  std::memcpy(nest->bounds, bounds, n * sizeof(KmpDim));
  for (size_t i = 0; i < n; ++i) nest->counts[i] = trip_count<int64_t>(bounds[i].first, bounds[i].last, bounds[i].step);
  return nest;
}

void enter_if_needed(Member& member, Doacross& nest) {
  if (!nest.entered) enter_loop(member, {.trip = 0, .deal = Deal::kStatic});
}

// -1: before the first one.
int64_t iteration_of(int64_t value, const KmpDim& dim) {
  if (dim.step > 0 ? value < dim.first : value > dim.first) return -1;
  return dim.step > 0 ? (value - dim.first) / dim.step : (dim.first - value) / -dim.step;
}

const int64_t* point_of(Doacross& nest, const int64_t* values) {
  for (unsigned i = 0; i < nest.dims; ++i) nest.point[i] = iteration_of(values[i], nest.bounds[i]);
  return nest.point;
}

}  // namespace
}  // namespace weft::omp::llvm

using namespace weft::omp;
using namespace weft::omp::llvm;

WEFT_OMP_API void __kmpc_doacross_init(Ident*, int32_t gtid, int32_t dims, const KmpDim* bounds) {
  Member& member = *thread_of(gtid).member;
  std::free(member.doacross);
  member.doacross = nullptr;
  if (member.team->n > 1) member.doacross = make_nest(dims, bounds);
}

WEFT_OMP_API void __kmpc_doacross_post(Ident*, int32_t gtid, const int64_t* values) {
  Member& member = *thread_of(gtid).member;
  Doacross* nest = doacross_of(member);
  if (nest == nullptr) return;
  enter_if_needed(member, *nest);
  doacross_post(member, point_of(*nest, values));
  if (tool::there()) tool::doacross(member, ompt_dependence_type_source, values, nest->dims);
}

WEFT_OMP_API void __kmpc_doacross_wait(Ident*, int32_t gtid, const int64_t* values) {
  Member& member = *thread_of(gtid).member;
  Doacross* nest = doacross_of(member);
  if (nest == nullptr) return;
  enter_if_needed(member, *nest);
  const bool waited = doacross_wait(member, point_of(*nest, values));
  if (waited && tool::there()) tool::doacross(member, ompt_dependence_type_sink, values, nest->dims);
}

WEFT_OMP_API void __kmpc_doacross_fini(Ident*, int32_t gtid) {
  Member& member = *thread_of(gtid).member;
  Doacross* nest = doacross_of(member);
  if (nest == nullptr) return;
  enter_if_needed(member, *nest);  // as all others have
  leave_loop(member);
  std::free(nest);
  member.doacross = nullptr;
}
