// mutex.cpp: the kernel knows the owner of a priority-inheriting mutex by the number of a kernel thread. A ULT has none that stays,
// so it may not lock such a mutex.
#include <errno.h>
#include <pthread.h>

#include "arch/klt_register.hpp"
#include "identity/identity.hpp"
#include "intercept/next.hpp"

using namespace weft::rt;

namespace {

// glibc's, in the kind of a mutex, which static initialisers fix.
constexpr int kInheritsPriority = 32;

constinit Next<int(pthread_mutex_t*) noexcept> next_lock{"pthread_mutex_lock"};
constinit Next<int(pthread_mutex_t*) noexcept> next_trylock{"pthread_mutex_trylock"};
constinit Next<int(pthread_mutex_t*, const timespec*) noexcept> next_timedlock{"pthread_mutex_timedlock"};
constinit Next<int(pthread_mutex_t*, clockid_t, const timespec*) noexcept> next_clocklock{"pthread_mutex_clocklock"};

[[gnu::constructor]] void find_next() noexcept {
  next_lock.find();
  next_trylock.find();
  next_timedlock.find();
  next_clocklock.find();
}

bool inherits_priority(const pthread_mutex_t* mutex) noexcept {
  return (__atomic_load_n(&mutex->__data.__kind, __ATOMIC_RELAXED) & kInheritsPriority) != 0;
}

// Also one that has been a thread of the program's. Where its lender handles a signal in its place that thread locks.
bool is_ult() noexcept { return klt_register_valid() && identity_of(pthread_self()) != nullptr; }

template <auto& kNext, class... Deadline>
[[gnu::noinline]] int lock_slowly(pthread_mutex_t* mutex, Deadline... deadline) noexcept {
  return inherits_priority(mutex) && is_ult() ? ENOTSUP : kNext.get()(mutex, deadline...);
}

// What every lock of a mutex costs: a compare and a jump.
template <auto& kNext, class... Deadline>
[[gnu::always_inline]] inline int lock(pthread_mutex_t* mutex, Deadline... deadline) noexcept {
  auto* next = kNext.known();
  if (__builtin_expect(inherits_priority(mutex) || next == nullptr, 0)) return lock_slowly<kNext>(mutex, deadline...);
  return next(mutex, deadline...);
}

}  // namespace

#pragma GCC visibility push(default)
extern "C" {

int pthread_mutex_lock(pthread_mutex_t* mutex) noexcept { return lock<next_lock>(mutex); }

int pthread_mutex_trylock(pthread_mutex_t* mutex) noexcept { return lock<next_trylock>(mutex); }

int pthread_mutex_timedlock(pthread_mutex_t* mutex, const timespec* deadline) noexcept {
  return lock<next_timedlock>(mutex, deadline);
}

int pthread_mutex_clocklock(pthread_mutex_t* mutex, clockid_t clock, const timespec* deadline) noexcept {
  return lock<next_clocklock>(mutex, clock, deadline);
}

}  // extern "C"
#pragma GCC visibility pop
