// frame.hpp (x86-64): what a thread was at that a signal has interrupted. Async-signal-safe.
#pragma once

#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <ucontext.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "arch/system_call.hpp"

namespace weft::rt {

inline uintptr_t frame_ip(const ucontext_t& frame) noexcept {
  return static_cast<uintptr_t>(frame.uc_mcontext.gregs[REG_RIP]);
}

// It is about to begin a call, for the first time or again.
inline bool frame_begins_call(const ucontext_t& frame) noexcept {
  const auto* code = reinterpret_cast<const unsigned char*>(frame.uc_mcontext.gregs[REG_RIP]);
  return code[0] == 0x0f && code[1] == 0x05;
}

// It was in the kernel, in a call that fails for the signal or is about to be begun again: the registers hold the call's number and
// arguments again then, and the instruction pointer is before it.
inline bool frame_in_kernel(const ucontext_t& frame) noexcept {
  return frame.uc_mcontext.gregs[REG_RAX] == -EINTR || frame_begins_call(frame);
}

// It was in a call that has failed for the signal, which is not begun again. (Of what was at a page's first byte we cannot see what came
// before.)
inline bool frame_call_failed(const ucontext_t& frame) noexcept {
  const auto* code = reinterpret_cast<const unsigned char*>(frame.uc_mcontext.gregs[REG_RIP]);
  const bool seen = reinterpret_cast<uintptr_t>(code) % 4096 >= 2;
  return frame.uc_mcontext.gregs[REG_RAX] == -EINTR && (!seen || (code[-2] == 0x0f && code[-1] == 0x05));
}

// It is about to begin a wait for children, which returns at once: one is there, or none can be.
inline bool frame_child_is_there(const ucontext_t& frame) noexcept {
  const auto& registers = frame.uc_mcontext.gregs;
  const bool by_type = registers[REG_RAX] == SYS_waitid;
  const auto asked = static_cast<pid_t>(by_type ? registers[REG_RSI] : registers[REG_RDI]);
  int type = static_cast<int>(registers[REG_RDI]);
  if (!by_type) type = asked > 0 ? P_PID : asked == -1 ? P_ALL : P_PGID;
  const int options = static_cast<int>(by_type ? registers[REG_R10] : registers[REG_RDX] | WEXITED) | WNOHANG | WNOWAIT;
  siginfo_t info;
  info.si_pid = 0;
  const long number = asked < 0 ? -long{asked} : asked;
  return system_call(SYS_waitid, type, number, reinterpret_cast<long>(&info), options, 0, 0) != 0 || info.si_pid != 0;
}

// One of the calls that wait, if it is about to be begun again, fails instead: as the kernel has it for handlers, of some calls those without
// SA_RESTART alone. So does one that has not begun, which looks the same. (The kernel begins one again for nothing, too: where it has woken a
// thread for a signal that another one has taken.)
inline void frame_end_call(ucontext_t& frame, bool handler_restarts) noexcept {
  if (!frame_begins_call(frame)) return;
  auto& registers = frame.uc_mcontext.gregs;
  bool ends = false;
  switch (registers[REG_RAX]) {
    case SYS_wait4: case SYS_waitid: ends = !handler_restarts && !frame_child_is_there(frame); break;
    case SYS_read: case SYS_readv: case SYS_write: case SYS_writev:
    case SYS_open: case SYS_openat: case SYS_ioctl: case SYS_fcntl: case SYS_flock:
    case SYS_accept: case SYS_accept4: case SYS_connect:
    case SYS_recvfrom: case SYS_recvmsg: case SYS_recvmmsg:
    case SYS_sendto: case SYS_sendmsg: case SYS_sendmmsg:
    case SYS_futex: case SYS_mq_timedsend: case SYS_mq_timedreceive: ends = !handler_restarts; break;
    case SYS_nanosleep: case SYS_clock_nanosleep: case SYS_restart_syscall: case SYS_pause: case SYS_rt_sigsuspend:
    case SYS_poll: case SYS_ppoll: case SYS_select: case SYS_pselect6:
    case SYS_semop: case SYS_semtimedop: case SYS_msgsnd: case SYS_msgrcv: ends = true; break;
    default: break;
  }
  if (!ends) return;
  registers[REG_RAX] = -EINTR;
  registers[REG_RIP] += 2;
}

// The general registers, in no order that matters: neither the instruction pointer nor the flags are among them.
inline constexpr unsigned kFrameGeneral = 16;
static_assert(REG_R8 == 0 && REG_RSP == kFrameGeneral - 1);
inline uint64_t frame_general(const ucontext_t& frame, unsigned i) noexcept {
  return static_cast<uint64_t>(frame.uc_mcontext.gregs[i]);
}

// A number for what the vector and floating-point registers hold, but for vectors' upper halves.
inline uint64_t frame_vectors(const ucontext_t& frame) noexcept {
  constexpr uint64_t kFactor = 0x9e3779b97f4a7c15;
  uint64_t sum = 0;
  const auto add = [&sum](uint64_t value) { sum = (sum ^ value ^ sum >> 29) * kFactor; };
  const auto* state = frame.uc_mcontext.fpregs;
  if (state == nullptr) return sum;
  for (const auto& vector : state->_xmm) {
    uint64_t halves[2];
    std::memcpy(halves, &vector, sizeof halves);
    add(halves[0]);
    add(halves[1]);
  }
  // Ten bytes each: nobody writes the others.
  for (const auto& number : state->_st) {
    uint64_t significand;
    std::memcpy(&significand, number.significand, sizeof significand);
    add(significand);
    add(number.exponent);
  }
  return sum;
}

// Where a frame lies, as the kernel lays it out: a return address, the context, the siginfo; above, at a multiple of 64, what the
// context points to, the vector registers, with a word that says how much that is. Nothing: laid out otherwise (Valgrind's).
struct FramePlace {
  uintptr_t low = 0, high = 0;
};

inline constexpr size_t kFrameContext = offsetof(ucontext_t, uc_sigmask) + 8;  // of the context; the C library's is longer

inline FramePlace frame_place(const siginfo_t* info, const ucontext_t& frame) noexcept {
  constexpr size_t kSoftware = 464;                                  // of struct _fpx_sw_bytes; without it the old 512 bytes are all
  constexpr uint32_t kMagic = 0x46505853;
  const auto context = reinterpret_cast<uintptr_t>(&frame);
  const auto vectors = reinterpret_cast<uintptr_t>(frame.uc_mcontext.fpregs);
  if (reinterpret_cast<uintptr_t>(info) != context + kFrameContext || vectors % 64 != 0) return {};
  if (vectors < context + kFrameContext + sizeof(siginfo_t)) return {};
  uint32_t software[2];  // magic number, bytes
  std::memcpy(software, reinterpret_cast<const char*>(vectors) + kSoftware, sizeof software);
  const uintptr_t bytes = software[0] == kMagic ? software[1] : sizeof(_libc_fpstate);
  return {context - sizeof(void*), vectors + bytes};
}

// Of a frame that has a place.
inline siginfo_t* frame_info(ucontext_t& frame) noexcept {
  return reinterpret_cast<siginfo_t*>(reinterpret_cast<uintptr_t>(&frame) + kFrameContext);
}

// Where it would lie on a stack that ends at `top`.
inline FramePlace frame_place_below(const FramePlace& place, const ucontext_t& frame, uintptr_t top) noexcept {
  const auto vectors = reinterpret_cast<uintptr_t>(frame.uc_mcontext.fpregs);
  const uintptr_t there = (top - (place.high - vectors)) & ~uintptr_t{63};
  return {place.low + (there - vectors), place.high + (there - vectors)};
}

// Had the kernel put it on the stack that was interrupted.
inline FramePlace frame_place_there(const FramePlace& place, const ucontext_t& frame) noexcept {
  constexpr uintptr_t kRedZone = 128;
  return frame_place_below(place, frame, frame_general(frame, REG_RSP) - kRedZone);
}

// Returns to what was interrupted, from wherever the caller is.
[[noreturn, gnu::always_inline]] inline void frame_return(ucontext_t& frame) noexcept {
  asm volatile(
      "movq %0, %%rsp\n\t"
      "syscall\n\t"
      :
      : "r"(&frame), "a"(SYS_rt_sigreturn)
      : "memory");
  __builtin_unreachable();
}

// Moves it there, and goes on with then(the frame there), as if the kernel had called that: it returns to what was interrupted.
// What runs now is given up. (Not said to be noreturn: AddressSanitizer would allocate before each such call, in a signal's handler.)
[[gnu::always_inline]] inline void frame_go_on_there(const FramePlace& place, const FramePlace& there, ucontext_t& frame,
                                                               void (*then)(ucontext_t*)) noexcept {
  const uintptr_t by = there.low - place.low;
  frame.uc_mcontext.fpregs = reinterpret_cast<_libc_fpstate*>(reinterpret_cast<uintptr_t>(frame.uc_mcontext.fpregs) + by);
  asm volatile(
      "rep movsb\n\t"
      "movq %[low], %%rsp\n\t"
      "leaq 8(%[low]), %%rdi\n\t"
      "jmpq *%[then]\n\t"
      :
      : "D"(there.low), "S"(place.low), "c"(place.high - place.low), [low] "d"(there.low), [then] "a"(then)
      : "memory");
  __builtin_unreachable();
}

}  // namespace weft::rt
