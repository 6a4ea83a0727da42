// parallel.cpp: parallel regions of clang's code, and who is asking.
#include <algorithm>
#include <cstdarg>
#include <utility>
#include <vector>

#include "llvm/ident.hpp"
#include "llvm/loop.hpp"
#include "llvm/microtask.hpp"
#include "region.hpp"
#include "team.hpp"

namespace weft::omp::llvm {

void run_in(Member& member, const Call& call) {
  int32_t gtid = member.thread->gtid;
  int32_t number = member.num;
  void** frame = nullptr;
  if (tool::there()) {
    tool::frame_left(member.implicit, nullptr);
    frame = &member.implicit.seen.frame.exit_frame.ptr;
  }
  weft_omp_microtask(call.fn, &gtid, &number, call.argc, call.argv, frame);
  leave_loop(member);
  if (tool::there()) tool::work_ends(member);  // it has been left by cancellation
}

namespace {

// first: the function; second: its arguments; count: of these. A single one comes by itself: the opener's memory would come after it.
void run_call(Member& member, const Body& body) {
  run_in(member, {reinterpret_cast<Microtask>(body.first), body.count, static_cast<void**>(body.second)});
}
void run_call_of_one(Member& member, const Body& body) {
  void* argument = body.second;
  run_in(member, {reinterpret_cast<Microtask>(body.first), 1, &argument});
}
Body body_of(const Call& call) {
  const bool one = call.argc == 1;
  return {one ? run_call_of_one : run_call, reinterpret_cast<void*>(call.fn), one ? call.argv[0] : call.argv, call.argc};
}

[[gnu::noinline]] void fork_with_list(Thread& thread, RegionWish& wish, Call& call) {
  const std::vector<int> inner = std::exchange(thread.push_inner, {});  // not the one of a region inside
  wish.inner_threads = &inner;
  parallel(wish, body_of(call));
}

void fork(Thread& thread, Call& call) {
  RegionWish wish = {.threads = thread.push_threads, .bind = thread.push_bind};
  thread.push_threads = 0;
  thread.push_bind = 0;
  if (__builtin_expect(!thread.push_inner.empty(), 0)) return fork_with_list(thread, wish, call);
  parallel(wish, body_of(call));
}

void begin_serial(Thread& thread) {
  thread.push_threads = 0;
  thread.push_bind = 0;
  thread.push_inner.clear();
  region_begin_serial();
}

void push_threads(Thread& thread, int threads) {
  thread.push_threads = std::max(threads, 1);
  thread.push_inner.clear();
}

void end_serial(Thread& thread) {
  leave_loop(*thread.member);
  region_end();
}

}  // namespace
}  // namespace weft::omp::llvm

using namespace weft::omp;
using namespace weft::omp::llvm;

// The arguments are pointers, or values of a pointer's size.
WEFT_OMP_API void __kmpc_fork_call(Ident*, int32_t argc, Microtask fn, ...) {
  void** argv = static_cast<void**>(__builtin_alloca(sizeof(void*) * static_cast<size_t>(argc + 1)));
  va_list arguments;
  va_start(arguments, fn);
  for (int i = 0; i < argc; ++i) argv[i] = va_arg(arguments, void*);
  va_end(arguments);
  Call call = {fn, argc, argv};
  const tool::Entry entry(WEFT_OMP_CALLER);
  fork(this_thread(), call);
}

// if() without a second copy of the call: `argument` is the only one, and may be null where there is none.
WEFT_OMP_API void __kmpc_fork_call_if(Ident*, int32_t argc, Microtask fn, int32_t condition, void* argument) {
  const tool::Entry entry(WEFT_OMP_CALLER);
  Thread& thread = this_thread();
  Call call = {fn, argc < 1 ? argc : 1, &argument};
  if (condition != 0) {
    fork(thread, call);
    return;
  }
  begin_serial(thread);
  run_in(*thread.member, call);
  end_serial(thread);
}

// The compiler calls the region itself between these two: if(false).
WEFT_OMP_API void __kmpc_serialized_parallel(Ident*, int32_t) {
  const tool::Entry entry(WEFT_OMP_CALLER);
  Thread& thread = this_thread();
  begin_serial(thread);
  if (tool::there()) tool::called_by_program(*thread.member, WEFT_OMP_FRAME_REGISTER);
}
WEFT_OMP_API void __kmpc_end_serialized_parallel(Ident*, int32_t gtid) {
  const tool::Entry entry(WEFT_OMP_CALLER);
  end_serial(thread_of(gtid));
}

// ---- for the next region

WEFT_OMP_API void __kmpc_push_num_threads(Ident*, int32_t gtid, int32_t threads) { push_threads(thread_of(gtid), threads); }
WEFT_OMP_API void __kmpc_pop_num_threads(Ident*, int32_t gtid) {
  thread_of(gtid).push_threads = 0;
  thread_of(gtid).push_inner.clear();
}
// One number for each level of nesting; the last one is for those below, too.
WEFT_OMP_API void __kmpc_push_num_threads_list(Ident*, int32_t gtid, uint32_t count, int32_t* threads) {
  if (count == 0) return;
  Thread& thread = thread_of(gtid);
  push_threads(thread, threads[0]);
  for (uint32_t i = 1; i < count; ++i) thread.push_inner.push_back(std::max(threads[i], 1));
}

// strict: a region that cannot have so many threads is to end, or to warn, with `message`. Ours can.
WEFT_OMP_API void __kmpc_push_num_threads_strict(Ident* ident, int32_t gtid, int32_t threads, int, const char*) {
  __kmpc_push_num_threads(ident, gtid, threads);
}
WEFT_OMP_API void __kmpc_push_num_threads_list_strict(Ident* ident, int32_t gtid, uint32_t count, int32_t* threads, int,
                                                      const char*) {
  __kmpc_push_num_threads_list(ident, gtid, count, threads);
}
WEFT_OMP_API void __kmpc_push_proc_bind(Ident*, int32_t gtid, int bind) {
  constexpr int kPrimary = 5;  // clang's for proc_bind(primary); proc_bind(master) is as in omp.h
  thread_of(gtid).push_bind = bind == kPrimary ? static_cast<int>(Bind::kPrimary) : bind;
}

// ---- who asks

WEFT_OMP_API int32_t __kmpc_global_thread_num(Ident*) { return this_number(); }
WEFT_OMP_API int32_t __kmpc_global_num_threads(Ident*) { return threads_known(); }
WEFT_OMP_API int32_t __kmpc_bound_thread_num(Ident*) { return this_member().num; }
WEFT_OMP_API int32_t __kmpc_bound_num_threads(Ident*) { return this_member().team->n; }
WEFT_OMP_API int32_t __kmpc_in_parallel(Ident*) { return this_member().team->active_level > 0; }
WEFT_OMP_API int32_t __kmpc_ok_to_fork(Ident*) { return 1; }

// Some compilers' main() says that it begins and ends. The runtime does by itself.
WEFT_OMP_API void __kmpc_begin(Ident*, int32_t) { this_thread(); }
WEFT_OMP_API void __kmpc_end(Ident*) {}
