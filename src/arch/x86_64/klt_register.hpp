// klt_register.hpp (x86-64): the calling KLT's own record, at the GS base.
//
// x86-64 user space leaves GS free. It is set once per KLT (arch_prctl works on every kernel) and
// never asked for: each access is one instruction relative to %gs, so that no signal, and no
// suspension, can come between finding the record and using it. Reading the base (rdgsbase) costs
// 3 ns on some cores, so whether this thread is a KLT of Weft is told by one thread-local byte; it is
// read in assembly because a compiler may keep a thread-local address across a suspension.
//
// Rejected: the record in thread-local storage (a ULT with an identity of its own changes the thread
// pointer); the stack pointer masked to find a record (stacks of any size and owner).
#pragma once

#include <cstddef>

namespace weft::rt {

struct Klt;

// Set in every thread that has a record at its GS base.
extern "C" __attribute__((tls_model("initial-exec"), visibility("hidden"))) thread_local bool weft_rt_on_klt;

// Sets the calling thread's record; null removes it.
void klt_register_set(Klt* klt) noexcept;

// Where in a thread's control block it is said whether that has one: from the thread pointer.
ptrdiff_t klt_register_flag() noexcept;

// The calling thread's control block counts as a KLT's: only KLTs will use it.
void klt_register_presume() noexcept;

// The calling thread counts as having none, and keeps it where its frames still expect one.
void klt_register_hide() noexcept;

[[gnu::always_inline]] inline bool klt_register_valid() noexcept {
  bool valid;
  void* offset;
  asm volatile(
      "movq weft_rt_on_klt@gottpoff(%%rip), %[offset]\n\t"
      "cmpb $0, %%fs:(%[offset])\n\t"
      : [offset] "=&r"(offset), "=@ccne"(valid));
  return valid;
}

// The same for a library on top of this one, by the name that is exported: it goes with whatever copy of Weft the library's calls
// go to, this one's own code with its own.
[[gnu::always_inline]] inline bool klt_register_valid_abroad() noexcept {
  bool valid;
  void* offset;
  asm volatile(
      "movq weft_on_klt@gottpoff(%%rip), %[offset]\n\t"
      "cmpb $0, %%fs:(%[offset])\n\t"
      : [offset] "=&r"(offset), "=@ccne"(valid));
  return valid;
}

// One field of the record. Precondition: klt_register_valid().
template <size_t kOffset, class T>
[[gnu::always_inline]] inline T klt_register_load() noexcept {
  T value;
  asm volatile("mov %%gs:%c1, %0" : "=r"(value) : "i"(kOffset) : "memory");
  return value;
}

template <size_t kOffset>
[[gnu::always_inline]] inline void klt_register_store32(unsigned value) noexcept {
  asm volatile("movl %0, %%gs:%c1" ::"ri"(value), "i"(kOffset) : "memory");
}

// In one instruction, so that no suspension can come in between.
template <size_t kOffset>
[[gnu::always_inline]] inline void klt_register_add32(unsigned value) noexcept {
  asm volatile("addl %0, %%gs:%c1" ::"ri"(value), "i"(kOffset) : "memory", "cc");
}

// Both: others may change bits at the same time.
template <size_t kOffset>
[[gnu::always_inline]] inline void klt_register_or32(unsigned bits) noexcept {
  asm volatile("lock orl %0, %%gs:%c1" ::"ri"(bits), "i"(kOffset) : "memory", "cc");
}

template <size_t kOffset>
[[gnu::always_inline]] inline void klt_register_and32(unsigned bits) noexcept {
  asm volatile("lock andl %0, %%gs:%c1" ::"ri"(bits), "i"(kOffset) : "memory", "cc");
}

template <size_t kOffset>
[[gnu::always_inline]] inline void klt_register_store64(void* value) noexcept {
  asm volatile("movq %0, %%gs:%c1" ::"r"(value), "i"(kOffset) : "memory");
}

}  // namespace weft::rt
