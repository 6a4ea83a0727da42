// mark.cpp: whether a pthread_t is a lender's, told by one byte in each thread's control block.
//
// Rejected: looking it up among the pool's identities, under its lock: pthread_kill() is called in signal handlers.
#include <atomic>

#include "identity/identity.hpp"

namespace weft::rt {
namespace {

// Initial-exec: at the same place in all threads.
__attribute__((tls_model("initial-exec"))) thread_local bool is_lenders = false;
// From a pthread_t to that; 0: there has been no lender yet.
constinit std::atomic<ptrdiff_t> offset{0};

uintptr_t number(pthread_t thread) noexcept { return static_cast<uintptr_t>(thread); }

bool* mark_of(pthread_t thread) noexcept {
  return reinterpret_cast<bool*>(number(thread) + static_cast<uintptr_t>(offset.load(std::memory_order_relaxed)));
}

}  // namespace

void identity_mark_setup() noexcept {
  const uintptr_t here = reinterpret_cast<uintptr_t>(&is_lenders);
  offset.store(static_cast<ptrdiff_t>(here - number(pthread_self())), std::memory_order_relaxed);
}

void identity_mark(pthread_t lender, bool is_one) noexcept { __atomic_store_n(mark_of(lender), is_one, __ATOMIC_RELAXED); }

bool identity_is(pthread_t thread) noexcept {
  // Relaxed: whoever has the number of a lender's has it from somebody who ran after the setup.
  return offset.load(std::memory_order_relaxed) != 0 && __atomic_load_n(mark_of(thread), __ATOMIC_RELAXED);
}

}  // namespace weft::rt
