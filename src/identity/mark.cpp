// mark.cpp: which identity a pthread_t is, told by one word in each thread's control block.
//
// Rejected: looking it up among the pool's identities, under its lock: pthread_kill() is called in signal handlers.
#include <atomic>

#include "identity/identity.hpp"

namespace weft::rt {
namespace {

// Initial-exec: at the same place in all threads.
__attribute__((tls_model("initial-exec"))) thread_local Identity* its_identity = nullptr;
// From a pthread_t to that; 0: there has been none yet.
constinit std::atomic<ptrdiff_t> offset{0};

uintptr_t number(pthread_t thread) noexcept { return static_cast<uintptr_t>(thread); }

Identity** mark_of(pthread_t thread) noexcept {
  return reinterpret_cast<Identity**>(number(thread) + static_cast<uintptr_t>(offset.load(std::memory_order_relaxed)));
}

}  // namespace

void identity_mark_setup() noexcept {
  const uintptr_t here = reinterpret_cast<uintptr_t>(&its_identity);
  offset.store(static_cast<ptrdiff_t>(here - number(pthread_self())), std::memory_order_relaxed);
}

void identity_mark(pthread_t lender, Identity* identity) noexcept { __atomic_store_n(mark_of(lender), identity, __ATOMIC_RELEASE); }

Identity* identity_of(pthread_t thread) noexcept {
  // Relaxed: whoever has the number of a lender's has it from somebody who ran after the setup.
  return offset.load(std::memory_order_relaxed) != 0 ? __atomic_load_n(mark_of(thread), __ATOMIC_ACQUIRE) : nullptr;
}

}  // namespace weft::rt
