// known.hpp: who the calling thread is, as it was found out last.
//
// Asked at each call of code of gcc's, so it has to be quick. A ULT with an identity of its own, and a kernel thread, could keep
// the answer in thread-local storage; a ULT without one shares that with others. So what is kept there says for which unit it is
// good, and is believed only by that unit; the rest look into unit-local storage (thread.cpp). Units end and others get their
// address: then the epoch has changed.
#pragma once

#include <atomic>
#include <cstdint>

#include "front/front.hpp"
#include "weft/weft.h"

namespace weft::omp {

struct Thread;

struct Known {
  weft_unit_t unit;
  uint64_t epoch;
  Thread* thread;
};

}  // namespace weft::omp

extern "C" __attribute__((tls_model("initial-exec"),
                          visibility("hidden"))) thread_local constinit weft::omp::Known weft_omp_known;

namespace weft::omp {

extern constinit std::atomic<uint64_t> known_epoch;

// In assembly: a compiler may keep a thread-local address across a suspension.
[[gnu::always_inline]] inline Known known_here() {
#if defined(__x86_64__)
  static_assert(sizeof(Known) == 24);
  weft_unit_t unit;
  uint64_t epoch;
  Thread* thread;
  void* offset;
  asm volatile(
      "movq weft_omp_known@gottpoff(%%rip), %[offset]\n\t"
      "movq %%fs:(%[offset]), %[unit]\n\t"
      "movq %%fs:8(%[offset]), %[epoch]\n\t"
      "movq %%fs:16(%[offset]), %[thread]\n\t"
      : [offset] "=&r"(offset), [unit] "=&r"(unit), [epoch] "=&r"(epoch), [thread] "=r"(thread));
  return {unit, epoch, thread};
#else
#error "weft: OpenMP: no thread-local storage for this ISA yet"
#endif
}

// Null: nothing is known of this one.
[[gnu::always_inline]] inline Thread* known_thread(weft_unit_t unit) {
  const Known known = known_here();
  if (__builtin_expect(known.unit != unit, 0)) return nullptr;
  if (__builtin_expect(known.epoch != known_epoch.load(std::memory_order_relaxed), 0)) return nullptr;
  return known.thread;
}

// The rest of this_thread().
Thread& find_this_thread(weft_unit_t unit);

}  // namespace weft::omp
