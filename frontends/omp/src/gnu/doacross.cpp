// doacross.cpp: loops whose iterations wait for others by number: ordered(n), depend(sink:), depend(source).
//
// Numbers are the compiler's from 0 on, those of the outermost loop (or of what collapse makes of it) first: it is the one that
// is shared out.
#include <cstdarg>

#include "export.hpp"
#include "gnu/loop.hpp"
#include "gnu/message.hpp"
#include "gnu/reduction.hpp"

namespace weft::omp::gnu {
namespace {

constexpr unsigned kMostDims = 64;

// Number is long or unsigned long long: of one representation, and none is negative.
template <class Number>
LoopSpec doacross_spec(const Member& member, unsigned dims, const Number* counts, long sched, uint64_t chunk) {
  static_assert(sizeof(Number) == sizeof(uint64_t));
  if (dims > kMostDims) fail("ordered(%u): at most %u loops", dims, kMostDims);
  const uint64_t trip = dims ? static_cast<uint64_t>(counts[0]) : 0;
  LoopSpec spec = make_spec(member, sched, trip, chunk);
  spec.start = 0;
  spec.end = trip;
  spec.incr = 1;
  spec.dims = dims;
  spec.counts = reinterpret_cast<const uint64_t*>(counts);
  return spec;
}

template <class Number>
bool doacross_start(long sched, unsigned dims, const Number* counts, uint64_t chunk, Number* istart, Number* iend) {
  Member& member = this_member();
  return start(member, doacross_spec(member, dims, counts, sched, chunk), istart, iend);
}

template <class Number>
bool doacross_start(long sched, unsigned dims, const Number* counts, uint64_t chunk, Number* istart, Number* iend,
                    Reductions* reductions, void** mem) {
  Member& member = this_member();
  LoopSpec spec = doacross_spec(member, dims, counts, sched, chunk);
  enter(member, spec, reductions, mem);
  tell_begin(member);
  return next(member, istart, iend);
}

void post(Member& member, const int64_t* vec) {
  doacross_post(member, vec);
  if (tool::there()) tool::doacross(member, ompt_dependence_type_source, vec, member.share->spec.dims);
}

constexpr uint64_t no_less_than_0(long chunk) { return chunk > 0 ? static_cast<uint64_t>(chunk) : 0; }

void wait_for(Member& member, int64_t first, va_list rest) {
  int64_t vec[kMostDims];
  vec[0] = first;
  for (unsigned i = 1; i < member.share->spec.dims; i++) vec[i] = va_arg(rest, int64_t);
  const bool waited = doacross_wait(member, vec);
  if (waited && tool::there()) tool::doacross(member, ompt_dependence_type_sink, vec, member.share->spec.dims);
}

}  // namespace
}  // namespace weft::omp::gnu

using namespace weft::omp;
using gnu::Reductions;
using gnu::Ull;

#define WEFT_DOACROSS(name, sched)                                                                                     \
  WEFT_OMP_API bool GOMP_loop_doacross_##name##_start(unsigned n, long* counts, long chunk, long* istart,              \
                                                      long* iend) {                                                    \
    return gnu::doacross_start(gnu::sched, n, counts, gnu::no_less_than_0(chunk), istart, iend);                       \
  }                                                                                                                    \
  WEFT_OMP_GNU(GOMP_loop_doacross_##name##_start, "GOMP_4.5")                                                          \
  WEFT_OMP_API bool GOMP_loop_ull_doacross_##name##_start(unsigned n, Ull* counts, Ull chunk, Ull* istart, Ull* iend) { \
    return gnu::doacross_start(gnu::sched, n, counts, chunk, istart, iend);                                            \
  }                                                                                                                    \
  WEFT_OMP_GNU(GOMP_loop_ull_doacross_##name##_start, "GOMP_4.5")

WEFT_DOACROSS(static, kSchedStatic)
WEFT_DOACROSS(dynamic, kSchedDynamic)
WEFT_DOACROSS(guided, kSchedGuided)

WEFT_OMP_API bool GOMP_loop_doacross_runtime_start(unsigned n, long* counts, long* istart, long* iend) {
  return gnu::doacross_start(gnu::kSchedRuntime, n, counts, 0, istart, iend);
}
WEFT_OMP_GNU(GOMP_loop_doacross_runtime_start, "GOMP_4.5")

WEFT_OMP_API bool GOMP_loop_ull_doacross_runtime_start(unsigned n, Ull* counts, Ull* istart, Ull* iend) {
  return gnu::doacross_start(gnu::kSchedRuntime, n, counts, 0, istart, iend);
}
WEFT_OMP_GNU(GOMP_loop_ull_doacross_runtime_start, "GOMP_4.5")

WEFT_OMP_API bool GOMP_loop_doacross_start(unsigned n, long* counts, long sched, long chunk, long* istart, long* iend,
                                           Reductions* reductions, void** mem) {
  return gnu::doacross_start(sched, n, counts, gnu::no_less_than_0(chunk), istart, iend, reductions, mem);
}
WEFT_OMP_GNU(GOMP_loop_doacross_start, "GOMP_5.0")

WEFT_OMP_API bool GOMP_loop_ull_doacross_start(unsigned n, Ull* counts, long sched, Ull chunk, Ull* istart, Ull* iend,
                                               Reductions* reductions, void** mem) {
  return gnu::doacross_start(sched, n, counts, chunk, istart, iend, reductions, mem);
}
WEFT_OMP_GNU(GOMP_loop_ull_doacross_start, "GOMP_5.0")

WEFT_OMP_API void GOMP_doacross_post(long* counts) {
  gnu::post(this_member(), reinterpret_cast<const int64_t*>(counts));
}
WEFT_OMP_GNU(GOMP_doacross_post, "GOMP_4.5")

WEFT_OMP_API void GOMP_doacross_ull_post(Ull* counts) {
  gnu::post(this_member(), reinterpret_cast<const int64_t*>(counts));
}
WEFT_OMP_GNU(GOMP_doacross_ull_post, "GOMP_4.5")

WEFT_OMP_API void GOMP_doacross_wait(long first, ...) {
  va_list rest;
  va_start(rest, first);
  gnu::wait_for(this_member(), first, rest);
  va_end(rest);
}
WEFT_OMP_GNU(GOMP_doacross_wait, "GOMP_4.5")

WEFT_OMP_API void GOMP_doacross_ull_wait(Ull first, ...) {
  va_list rest;
  va_start(rest, first);
  gnu::wait_for(this_member(), static_cast<int64_t>(first), rest);
  va_end(rest);
}
WEFT_OMP_GNU(GOMP_doacross_ull_wait, "GOMP_4.5")
