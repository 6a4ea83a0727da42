// context.hpp (x86-64): leaving a stack, coming back to it, and starting something on another one.
//
// A suspended context is three words; everything else is saved by the compiler, which is told by the
// clobber lists that nothing survives. Nothing is written to the stack that is left. The resumption
// is an indirect jump, predicted by its target; a `ret` would miss in the return-address predictor.
//
//      Context        +0  sp   stack pointer at the switch
//                     +8  ip   where to go on
//                    +16  bp   frame pointer, which a clobber list cannot name
//
// Floating-point control words are not part of it (see fp_environment.hpp). Shadow stacks are not
// supported; without them no user-space state is left out.
#pragma once

#include <cstddef>
#include <cstdint>

namespace weft::rt {

struct Context {
  void* sp = nullptr;
  void* ip = nullptr;
  void* bp = nullptr;
};
static_assert(offsetof(Context, sp) == 0 && offsetof(Context, ip) == 8 &&
              offsetof(Context, bp) == 16);

#define WEFT_CLOBBER_VECTORS                                                                 \
  "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9", "xmm10",   \
      "xmm11", "xmm12", "xmm13", "xmm14", "xmm15"

// What a new stack starts with: entry(a, b, c, d) never returns.
using Entry = void (*)(void* a, void* b, void* c, void* d);

// Saves the current context in *save and calls entry(a, b, c, d) on the stack whose top is `top`
// (16-byte aligned). Returns when somebody resumes *save.
[[gnu::always_inline]] inline void context_switch_to_entry(Context* save, void* top, Entry entry,
                                                           void* a, void* b, void* c,
                                                           void* d) noexcept {
  register void* new_top asm("r8") = top;
  register Entry target asm("r9") = entry;
  asm volatile(
      "leaq 1f(%%rip), %%r10\n\t"
      "movq %%rsp, 0(%[save])\n\t"
      "movq %%r10, 8(%[save])\n\t"
      "movq %%rbp, 16(%[save])\n\t"
      "movq %[top], %%rsp\n\t"
      "xorl %%ebp, %%ebp\n\t"  // ends the chain of frames for debuggers
      "pushq %%rbp\n\t"        // a return address of 0, for the same reason
      "jmpq *%[target]\n"
      "1:\n\t"
      : "+D"(a), "+S"(b), "+d"(c), "+c"(d), [save] "+a"(save), [top] "+r"(new_top),
        [target] "+r"(target)
      :
      : "rbx", "r10", "r11", "r12", "r13", "r14", "r15", "cc", "memory", WEFT_CLOBBER_VECTORS);
}

// Goes on at *to; what runs now is given up.
[[noreturn, gnu::always_inline]] inline void context_resume(const Context* to) noexcept {
  asm volatile(
      "movq 16(%[to]), %%rbp\n\t"
      "movq 0(%[to]), %%rsp\n\t"
      "jmpq *8(%[to])\n\t"
      :
      : [to] "a"(to)
      : "memory");
  __builtin_unreachable();
}

// `then` is done when the stack that is left is used no more, by a signal handler either.
#define WEFT_CONTEXT_SWITCH(then, ...)                                                          \
  asm volatile(                                                                                 \
      "leaq 1f(%%rip), %%r10\n\t"                                                               \
      "movq %%rsp, 0(%[save])\n\t"                                                              \
      "movq %%r10, 8(%[save])\n\t"                                                              \
      "movq %%rbp, 16(%[save])\n\t"                                                             \
      "movq 16(%[to]), %%rbp\n\t"                                                               \
      "movq 0(%[to]), %%rsp\n\t"                                                                \
      then                                                                                      \
      "jmpq *8(%[to])\n"                                                                        \
      "1:\n\t"                                                                                  \
      : [save] "+a"(save), [to] "+d"(to) __VA_ARGS__                                            \
      :                                                                                         \
      : "rbx", "rsi", "r8", "r9", "r10", "r11", "r12", "r13", "r14", "r15", "cc", "memory",     \
        WEFT_CLOBBER_VECTORS)

// Saves the current context in *save and goes on at *to.
[[gnu::always_inline]] inline void context_switch(Context* save, const Context* to) noexcept {
  void* word;
  uint32_t value;
  WEFT_CONTEXT_SWITCH("", , [word] "=D"(word), [value] "=c"(value));
}

// The same, and gives the context away: whoever sees that *word is `value`, and has read it by an acquire, may resume
// *save. The stores of this processor are seen in their order.
[[gnu::always_inline]] inline void context_switch_and_store(Context* save, const Context* to, uint32_t* word,
                                                            uint32_t value) noexcept {
  WEFT_CONTEXT_SWITCH("movl %[value], (%[word])\n\t", , [word] "+D"(word), [value] "+c"(value));
}

// The same, where others change the word's other bits meanwhile.
[[gnu::always_inline]] inline void context_switch_and_clear(Context* save, const Context* to, uint32_t* word,
                                                            uint32_t bits) noexcept {
  uint32_t mask = ~bits;
  WEFT_CONTEXT_SWITCH("lock andl %[value], (%[word])\n\t", , [word] "+D"(word), [value] "+c"(mask));
}

// Calls entry(a, b, c, d) on the stack whose top is `top`; what runs now is given up.
[[noreturn, gnu::always_inline]] inline void context_start(void* top, Entry entry, void* a, void* b,
                                                           void* c, void* d) noexcept {
  asm volatile(
      "movq %[top], %%rsp\n\t"
      "xorl %%ebp, %%ebp\n\t"
      "pushq %%rbp\n\t"
      "jmpq *%[entry]\n\t"
      :
      : "D"(a), "S"(b), "d"(c), "c"(d), [top] "r"(top), [entry] "r"(entry)
      : "memory");
  __builtin_unreachable();
}

// Calls fn(arg) such that call_leave(*frame) from anywhere inside it, also after it has been
// suspended and resumed on another KLT, returns from this call.
//
//      *frame ->  return address into this function
//                 saved frame pointer
[[gnu::always_inline]] inline void call_with_exit(void (*fn)(void*), void* arg,
                                                  void** frame) noexcept {
  // The caller calls other functions too, so its stack pointer is 16-byte aligned here; two words
  // keep it so. The red zone is off in this library.
  asm volatile(
      "subq $8, %%rsp\n\t"
      "pushq %%rbp\n\t"
      "leaq -8(%%rsp), %%r10\n\t"
      "movq %%r10, (%[frame])\n\t"
      "callq *%[fn]\n\t"
      "popq %%rbp\n\t"
      "addq $8, %%rsp\n\t"
      : "+D"(arg), [fn] "+a"(fn), [frame] "+d"(frame)
      :
      : "rbx", "rcx", "rsi", "r8", "r9", "r10", "r11", "r12", "r13", "r14", "r15", "cc", "memory",
        WEFT_CLOBBER_VECTORS);
}

extern "C" __attribute__((visibility("hidden"))) void weft_rt_diverted();

// Has the call_with_exit() whose frame this is go on, at its end, not where it was called but in
// weft_rt_call_returned(), which the rest of Weft defines and which does not return. (divert.S)
inline void context_divert(void* frame) noexcept {
  *static_cast<void (**)()>(frame) = weft_rt_diverted;
}

[[noreturn, gnu::always_inline]] inline void call_leave(void* frame) noexcept {
  asm volatile(
      "movq %[frame], %%rsp\n\t"
      "retq\n\t"
      :
      : [frame] "r"(frame)
      : "memory");
  __builtin_unreachable();
}

[[gnu::always_inline]] inline void* stack_pointer() noexcept {
  void* sp;
  asm volatile("movq %%rsp, %0" : "=r"(sp));
  return sp;
}

// A function that comes back on another stack than it was called on last: the processor expects it to return to where the other
// ULT has called it from. Where the two are different places, as a channel's sender and receiver are, that costs some 20 cycles; a
// jump is predicted by where it went before. A ULT that waits for the first time comes back through all that lies between the
// switch and the program, each with a wrong guess. It is for functions that switch, and for all of them up to the program: the place
// that was expected stays on the processor's list, and a return behind a jump finds that. So who need not wait after all, or goes straight
// over to a ULT that most often waits in the same place, is told apart before, in a function that returns as others do, and whose last call
// is to one that comes back in the one way or the other: leaves_far() in sync/wait_queue.hpp.
#define WEFT_RETURNS_BY_JUMP __attribute__((function_return("thunk-extern")))

}  // namespace weft::rt
