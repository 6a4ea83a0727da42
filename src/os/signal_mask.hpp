// signal_mask.hpp: a thread's signal mask, exactly as told.
#pragma once

#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace weft::rt {

// As the kernel has a set, and one signal in it.
inline uint64_t kernel_set(const sigset_t& set) noexcept {
  uint64_t bits;
  std::memcpy(&bits, &set, sizeof bits);
  return bits;
}
constexpr uint64_t signal_bit(int signal) noexcept { return uint64_t{1} << (signal - 1); }
// From here on signals are queued: each that is sent comes. Of the others one that has not been taken yet is enough.
inline constexpr int kFirstThatQueues = 32;

// Not pthread_sigmask(): that of libweft.so (intercept/) leaves our own signals open.
inline void set_signal_mask(int how, const sigset_t* set, sigset_t* before) noexcept {
  constexpr size_t kKernels = 8;
  syscall(SYS_rt_sigprocmask, how, set, before, kKernels);
}

inline uint64_t signal_mask_here() noexcept {
  sigset_t now;
  set_signal_mask(SIG_BLOCK, nullptr, &now);
  return kernel_set(now);
}

// Returns the one of before.
inline uint64_t change_mask_here(int how, uint64_t set) noexcept {
  constexpr size_t kKernels = sizeof set;
  uint64_t before = 0;
  syscall(SYS_rt_sigprocmask, how, &set, &before, kKernels);
  return before;
}

// Threads that are made meanwhile take no signal, but for the C library's own, and SIGSYS: a program's filter of system calls (seccomp) may send that
// to whoever makes one, for its handler to answer in the kernel's place; it ends the process where it is blocked.
class SignalsBlocked {
 public:
  SignalsBlocked() noexcept {
    sigset_t all;
    sigfillset(&all);  // leaves the C library's own out
    sigdelset(&all, SIGSYS);
    set_signal_mask(SIG_SETMASK, &all, &before_);
  }
  ~SignalsBlocked() { set_signal_mask(SIG_SETMASK, &before_, nullptr); }
  SignalsBlocked(const SignalsBlocked&) = delete;
  SignalsBlocked& operator=(const SignalsBlocked&) = delete;

 private:
  sigset_t before_{};
};

}  // namespace weft::rt
