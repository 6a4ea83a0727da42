// to_itself.hpp: signals that a thread sends to itself.
#pragma once

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "arch/system_call.hpp"
#include "identity/identity.hpp"
#include "klt/klt.hpp"
#include "klt/own_signal.hpp"
#include "os/kernel_tid.hpp"
#include "os/signal_mask.hpp"

namespace weft::rt {

// The C library keeps these to itself; no function of it sends one for a program.
inline bool is_reserved(int signal) noexcept { return signal >= __SIGRTMIN && signal < SIGRTMIN; }

// To the kernel thread that runs this. All return 0 or an error.
inline int send_to_calling_klt(int signal) noexcept {
  return static_cast<int>(-system_call(SYS_tgkill, getpid(), kernel_tid(), signal, 0));
}
inline int queue_to_calling_klt(int signal, const siginfo_t* info) noexcept {
  return static_cast<int>(-system_call(SYS_rt_tgsigqueueinfo, getpid(), kernel_tid(), signal, reinterpret_cast<long>(info)));
}

// What the caller has blocked stays pending where it is: that is to be known as it leaves. Async-signal-safe.
template <class Send>
int send_to_itself(int signal, Send send) noexcept {
  const Identity* identity = klt_register_valid() ? identity_of(pthread_self()) : nullptr;
  const bool stays = identity != nullptr && signal > 0 && signal <= SIGRTMAX &&
                     (identity->mask.load(std::memory_order_relaxed) & signal_bit(signal)) != 0;
  if (!stays) return send();
  const uint64_t ours = own_signals_mask(), opened = ours & ~change_mask_here(SIG_BLOCK, ours);  // on one KLT
  klt_self()->has_been_sent.store(true, std::memory_order_relaxed);
  const int result = send();
  change_mask_here(SIG_UNBLOCK, opened);
  return result;
}

}  // namespace weft::rt
