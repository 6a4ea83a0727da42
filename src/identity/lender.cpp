// lender.cpp: what a lender does: next to nothing, and so that nobody notices it.
//
// A ULT may use its thread-local storage at any time, on another KLT. So from lender_ready() on the lender touches none:
// no errno, no function of the C library, no signal handler. Two exceptions: the signal with which the C library's setuid() and its kin
// reach every thread, whose handler makes a system call and wakes the caller; and what it does in the place of a ULT that is on no KLT, and
// cannot get onto one meanwhile (worker/lender_signal.hpp).
#include "identity/lender.hpp"

#include <errno.h>
#include <linux/rseq.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "arch/klt_register.hpp"
#include "arch/system_call.hpp"
#include "arch/thread_pointer.hpp"
#include "identity/set_id.hpp"
#include "klt/klt.hpp"
#include "os/kernel_tid.hpp"
#include "os/signal_frame.hpp"
#include "os/signal_mask.hpp"
#include "os/thread_locals.hpp"
#include "unit/stack_map.hpp"

// glibc 2.35, and the program may run with another one than it was built with.
extern "C" {
[[gnu::weak]] extern const ptrdiff_t __rseq_offset;
[[gnu::weak]] extern const unsigned __rseq_size;
}

namespace weft::rt {
namespace {

constexpr size_t kLendersFrames = 16 * 1024;
constexpr size_t kHandlersFrames = 8 * 1024;
constexpr uint32_t kRegistrationFailed = static_cast<uint32_t>(RSEQ_CPU_ID_REGISTRATION_FAILED);
constexpr size_t kRseqSize = 32;    // with which every C library registers it at least
constexpr int kUnregister = 1;

// An older C library registers none.
bool rseq_is_registered() noexcept { return &__rseq_size != nullptr && __rseq_size != 0; }

struct rseq* rseq_area(uintptr_t thread_pointer) noexcept {
  return reinterpret_cast<struct rseq*>(thread_pointer + static_cast<uintptr_t>(__rseq_offset));
}

}  // namespace

// With the raw system call: the C library's own would leave out its own signals, and cancellation acts on thread-local state.
__attribute__((no_sanitize("address", "thread", "undefined"))) uint64_t lender_block_signals() noexcept {
  const uint64_t mask = ~(uint64_t{1} << (kSetIdSignal - 1));
  uint64_t before = 0;
  system_call(SYS_rt_sigprocmask, SIG_SETMASK, reinterpret_cast<long>(&mask), reinterpret_cast<long>(&before), sizeof mask);
  return before;
}

namespace {

// For its frames, and a handler's. Nothing that is set up at the first call: a fork may come meanwhile.
size_t lenders_room() noexcept { return std::max(kLendersFrames, signal_frame_bytes() + kHandlersFrames); }

// Below the room for its own frames.
char* top_for_ult(const void* frame) noexcept {
  constexpr uintptr_t kAlignment = 64;
  return reinterpret_cast<char*>((reinterpret_cast<uintptr_t>(frame) - lenders_room()) & -kAlignment);
}

void* lender_main(void* memory) noexcept {
  lender_block_signals();
  pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, nullptr);
  prctl(PR_SET_NAME, "weft-identity");
  Identity identity{};
  identity.thread_pointer = thread_pointer();
  identity.lender = pthread_self();
  identity.tid = kernel_tid();
  identity.memory = static_cast<Stack*>(memory);
  stack_part(identity.stack, *identity.memory, top_for_ult(__builtin_frame_address(0)));
  identity.mask.store(klts_signal_mask(), std::memory_order_relaxed);
  size_t size = 0;
  syscall(SYS_get_robust_list, 0, &identity.robust, &size);
  if (c_library.stack != 0) identity.lenders = *reinterpret_cast<const StackWords*>(identity.thread_pointer + c_library.stack);
  rseq_unregister(identity.thread_pointer);
  klt_register_presume();
  identity_mark(identity.lender, &identity);
  lender_ready(&identity);
  lender_serve(identity);
  // It is a thread of its own again: what is destroyed at its end may call Weft.
  klt_register_hide();
  return nullptr;
}

}  // namespace

bool rseq_unregister(uintptr_t thread_pointer) noexcept {
  if (!rseq_is_registered()) return true;
  struct rseq* area = rseq_area(thread_pointer);
  const bool done = system_call(SYS_rseq, reinterpret_cast<long>(area), kRseqSize, kUnregister, kRseqSignature) == 0;
  // The kernel does not know this area on whatever thread runs here: a critical section in it would never be aborted.
  area->cpu_id = kRegistrationFailed;
  return done;
}

bool rseq_register(uintptr_t thread_pointer) noexcept {
  if (!rseq_is_registered()) return true;
  struct rseq* area = rseq_area(thread_pointer);
  return system_call(SYS_rseq, reinterpret_cast<long>(area), kRseqSize, 0, kRseqSignature) == 0;
}

// The C library puts the thread's variables at its upper end, aligned, so that they may take more there than elsewhere.
int lender_start(size_t stack_size) noexcept {
  const size_t alignment = kPage + thread_locals();  // at most
  Stack* memory = stack_map(stack_size + lenders_room() + c_library.above_frames + alignment);
  if (memory == nullptr) return ENOMEM;
  pthread_attr_t attr;
  pthread_attr_init(&attr);
  char* const low = memory->low + kPage;  // the guard is ours
  pthread_attr_setstack(&attr, low, static_cast<size_t>(memory->top - low));
  int error;
  {
    const SignalsBlocked scope;
    pthread_t thread;
    error = pthread_create(&thread, &attr, lender_main, memory);
  }
  pthread_attr_destroy(&attr);
  if (error != 0) stack_dispose(memory);
  return error;
}

}  // namespace weft::rt
