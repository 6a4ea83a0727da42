// parallel.cpp: parallel regions, also those combined with a loop or sections, and the league of host teams.
//
// Since gcc 4.9 a region is one call. Before, GOMP_parallel_start() returned to the code, which did its own share and then
// called GOMP_parallel_end().
#include "region.hpp"

#include "export.hpp"
#include "gnu/loop.hpp"
#include "gnu/reduction.hpp"
#include "gnu/sections.hpp"

namespace weft::omp::gnu {
namespace {

using Function = void (*)(void*);

// first: the function; second: its datum.
Function function_of(const Body& body) { return reinterpret_cast<Function>(body.first); }

// Member 0 of a region that has been begun by GOMP_parallel_start() comes from the program, which knows the loop's first piece.
[[gnu::noinline]] void run_seen(Member& member, const Body& body) {
  if (member.share != member.head) tool::work_begins(member, tool::work_of(member, member.share->spec), member.share->spec.trip);
  tool::call(member.implicit, [&body] { function_of(body)(body.second); });
  tool::work_ends(member);
}

void run(Member& member, const Body& body) {
  if (tool::there()) return run_seen(member, body);
  function_of(body)(body.second);
}

Body body_of(Function fn, void* data) { return {run, reinterpret_cast<void*>(fn), data}; }

constexpr unsigned kBindMask = 7;

RegionWish make_wish(unsigned threads, unsigned flags) {
  RegionWish wish;
  wish.threads = threads > 0x7fffffff ? 0x7fffffff : static_cast<int>(threads);
  wish.bind = static_cast<int>(flags & kBindMask);
  wish.bind_lasts = true;
  return wish;
}

void region(Function fn, void* data, unsigned threads, unsigned flags, const LoopSpec* loop = nullptr) {
  RegionWish wish = make_wish(threads, flags);
  wish.loop = loop;
  parallel(wish, body_of(fn, data));
}

void region_start(Function fn, void* data, unsigned threads, const LoopSpec* loop = nullptr) {
  RegionWish wish = make_wish(threads, 0);
  wish.loop = loop;
  region_begin(wish, body_of(fn, data));
  if (tool::there()) tool::called_by_program(this_member(), nullptr);
}

void loop_region(Function fn, void* data, unsigned threads, long sched, long start, long end, long incr, long chunk,
                 unsigned flags) {
  const LoopSpec spec = long_spec(this_member(), sched, start, end, incr, chunk);
  region(fn, data, threads, flags, &spec);
}

void loop_region_start(Function fn, void* data, unsigned threads, long sched, long start, long end, long incr, long chunk) {
  const LoopSpec spec = long_spec(this_member(), sched, start, end, incr, chunk);
  region_start(fn, data, threads, &spec);
}

}  // namespace
}  // namespace weft::omp::gnu

using namespace weft::omp;
using gnu::Function;

WEFT_OMP_API void GOMP_parallel(Function fn, void* data, unsigned threads, unsigned flags) {
  const tool::Entry entry(WEFT_OMP_CALLER);
  gnu::region(fn, data, threads, flags);
}
WEFT_OMP_GNU(GOMP_parallel, "GOMP_4.0")

// The region's first datum is the address of its reductions. Returns how many copies the code has to combine.
WEFT_OMP_API unsigned GOMP_parallel_reductions(Function fn, void* data, unsigned threads, unsigned flags) {
  const tool::Entry entry(WEFT_OMP_CALLER);
  RegionWish wish = gnu::make_wish(threads, flags);
  // No more than there is memory for.
  wish.threads = threads_for(this_member(), wish.threads);
  auto* reductions = *static_cast<gnu::Reductions**>(data);
  gnu::allocate(reductions, static_cast<unsigned>(wish.threads));
  gnu::tie(reductions, nullptr);
  wish.gnu = reductions;
  return static_cast<unsigned>(parallel(wish, gnu::body_of(fn, data)));
}
WEFT_OMP_GNU(GOMP_parallel_reductions, "GOMP_5.0")

WEFT_OMP_API void GOMP_parallel_sections(Function fn, void* data, unsigned threads, unsigned count, unsigned flags) {
  const tool::Entry entry(WEFT_OMP_CALLER);
  const LoopSpec spec = gnu::sections_spec(count);
  gnu::region(fn, data, threads, flags, &spec);
}
WEFT_OMP_GNU(GOMP_parallel_sections, "GOMP_4.0")

#define WEFT_PARALLEL_LOOP(name, sched, version)                                                                       \
  WEFT_OMP_API void GOMP_parallel_loop_##name(Function fn, void* data, unsigned threads, long start, long end,         \
                                              long incr, long chunk, unsigned flags) {                                 \
    const tool::Entry entry(WEFT_OMP_CALLER);                                                                          \
    gnu::loop_region(fn, data, threads, gnu::sched, start, end, incr, chunk, flags);                                   \
  }                                                                                                                    \
  WEFT_OMP_GNU(GOMP_parallel_loop_##name, version)

#define WEFT_PARALLEL_LOOP_RUNTIME(name, version)                                                                      \
  WEFT_OMP_API void GOMP_parallel_loop_##name(Function fn, void* data, unsigned threads, long start, long end,         \
                                              long incr, unsigned flags) {                                             \
    const tool::Entry entry(WEFT_OMP_CALLER);                                                                          \
    gnu::loop_region(fn, data, threads, gnu::kSchedRuntime, start, end, incr, 0, flags);                               \
  }                                                                                                                    \
  WEFT_OMP_GNU(GOMP_parallel_loop_##name, version)

WEFT_PARALLEL_LOOP(static, kSchedStatic, "GOMP_4.0")
WEFT_PARALLEL_LOOP(dynamic, kSchedDynamic, "GOMP_4.0")
WEFT_PARALLEL_LOOP(guided, kSchedGuided, "GOMP_4.0")
WEFT_PARALLEL_LOOP(nonmonotonic_dynamic, kSchedDynamic, "GOMP_4.5")
WEFT_PARALLEL_LOOP(nonmonotonic_guided, kSchedGuided, "GOMP_4.5")
WEFT_PARALLEL_LOOP_RUNTIME(runtime, "GOMP_4.0")
WEFT_PARALLEL_LOOP_RUNTIME(nonmonotonic_runtime, "GOMP_5.0")
WEFT_PARALLEL_LOOP_RUNTIME(maybe_nonmonotonic_runtime, "GOMP_5.0")

// ---- of gcc before 4.9

WEFT_OMP_API void GOMP_parallel_start(Function fn, void* data, unsigned threads) {
  const tool::Entry entry(WEFT_OMP_CALLER);
  gnu::region_start(fn, data, threads);
}
WEFT_OMP_GNU(GOMP_parallel_start, "GOMP_1.0")

WEFT_OMP_API void GOMP_parallel_end() {
  const tool::Entry entry(WEFT_OMP_CALLER);
  region_end();
}
WEFT_OMP_GNU(GOMP_parallel_end, "GOMP_1.0")

WEFT_OMP_API void GOMP_parallel_sections_start(Function fn, void* data, unsigned threads, unsigned count) {
  const tool::Entry entry(WEFT_OMP_CALLER);
  const LoopSpec spec = gnu::sections_spec(count);
  gnu::region_start(fn, data, threads, &spec);
}
WEFT_OMP_GNU(GOMP_parallel_sections_start, "GOMP_1.0")

#define WEFT_PARALLEL_LOOP_START(name, sched)                                                                          \
  WEFT_OMP_API void GOMP_parallel_loop_##name##_start(Function fn, void* data, unsigned threads, long start, long end, \
                                                      long incr, long chunk) {                                         \
    const tool::Entry entry(WEFT_OMP_CALLER);                                                                          \
    gnu::loop_region_start(fn, data, threads, gnu::sched, start, end, incr, chunk);                                    \
  }                                                                                                                    \
  WEFT_OMP_GNU(GOMP_parallel_loop_##name##_start, "GOMP_1.0")

WEFT_PARALLEL_LOOP_START(static, kSchedStatic)
WEFT_PARALLEL_LOOP_START(dynamic, kSchedDynamic)
WEFT_PARALLEL_LOOP_START(guided, kSchedGuided)

WEFT_OMP_API void GOMP_parallel_loop_runtime_start(Function fn, void* data, unsigned threads, long start, long end,
                                                   long incr) {
  const tool::Entry entry(WEFT_OMP_CALLER);
  gnu::loop_region_start(fn, data, threads, gnu::kSchedRuntime, start, end, incr, 0);
}
WEFT_OMP_GNU(GOMP_parallel_loop_runtime_start, "GOMP_1.0")
