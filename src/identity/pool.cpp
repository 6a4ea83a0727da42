// pool.cpp: identities that are parked, and how there come to be more or fewer.
#include <errno.h>
#include <locale.h>
#include <sched.h>
#include <sys/syscall.h>

#include <algorithm>
#include <climits>
#include <cstddef>

#include "arch/klt_register.hpp"
#include "arch/system_call.hpp"
#include "arch/thread_pointer.hpp"
#include "base/spin_lock.hpp"
#include "identity/c_library.hpp"
#include "identity/identity.hpp"
#include "identity/keeper.hpp"
#include "identity/lender.hpp"
#include "identity/number.hpp"
#include "identity/robust.hpp"
#include "identity/set_id.hpp"
#include "identity/values.hpp"
#include "os/loader_work.hpp"
#include "sanitizer_switch.hpp"
#include "unit/stack_map.hpp"

namespace weft::rt {

constinit FutexWord identity_news{0};

namespace {

constexpr unsigned kKept = 32;   // parked ones that stay for good
constexpr unsigned kMostAtOnce = 64;

struct IdentityPool {
  SpinLock lock;
  // under the lock
  Identity* parked = nullptr;
  Identity* all = nullptr;
  Identity* ending = nullptr;  // not to be used again; linked by `next`
  unsigned parked_count = 0;
  unsigned alive = 0;     // with those that are only starting, without those that end
  unsigned starting = 0;
  unsigned fewest = 0;    // parked, since the last time that it was looked at
  unsigned most = 0;
  uint64_t made = 0;
  size_t stack_size = 0;  // the largest that anybody has wanted, since the kernel has last refused: so are those that are made
  bool some_used = false;  // of those that are parked
  bool outdated = true;   // values_learn() is to be called
  // any thread
  std::atomic<unsigned> waiting{0};
  std::atomic<uint32_t> refusals{0};
  std::atomic<bool> refused_memory{false};  // the last time
  std::atomic<const char*> lacks{nullptr};  // what the C library lacks; the keeper
};
constinit IdentityPool pool;
constinit Identity* forgotten = nullptr;  // in a forked child; linked by `next_all`

class Locked {
 public:
  Locked() noexcept { pool.lock.lock(); }
  Locked(const Locked&) = delete;
  Locked& operator=(const Locked&) = delete;
  ~Locked() { pool.lock.unlock(); }
};

void tell_news() noexcept {
  // Release, pairs with the acquire of whoever reads the news before it looks for a parked one.
  identity_news.fetch_add(1, std::memory_order_release);
  system_call(SYS_futex, reinterpret_cast<long>(&identity_news), FUTEX_WAKE_PRIVATE, INT_MAX, 0);
}

// The C library takes it for the stack of the thread whose control block this is.
void show_stack(const Identity* identity, const StackWords& stack) noexcept {
  if (c_library.stack != 0) *reinterpret_cast<StackWords*>(identity->thread_pointer + c_library.stack) = stack;
}

// Under the lock.
void park(Identity* identity) noexcept {
  identity->next = pool.parked;
  pool.parked = identity;
  ++pool.parked_count;
}

Identity* unpark() noexcept {
  Identity* identity = pool.parked;
  if (identity == nullptr) return nullptr;
  pool.parked = identity->next;
  --pool.parked_count;
  pool.fewest = std::min(pool.fewest, pool.parked_count);
  return identity;
}

void let_end(Identity* identity) noexcept {
  identity->next = pool.ending;
  pool.ending = identity;
  --pool.alive;
}

void unlist(Identity* identity) noexcept {
  if (identity->previous_all != nullptr) identity->previous_all->next_all = identity->next_all;
  if (identity->next_all != nullptr) identity->next_all->previous_all = identity->previous_all;
  if (pool.all == identity) pool.all = identity->next_all;
  number_remove(identity);
}

void end_lender(Identity* identity) noexcept {
  const pthread_t lender = identity->lender;
  Stack* const memory = identity->memory;  // that it lies on
  number_settle();
  identity_mark(lender, nullptr);  // it is to be joined
  identity->calls.fetch_or(kLenderEnds, std::memory_order_release);
  futex_wake(identity->calls, 1);
  pthread_join(lender, nullptr);
  stack_dispose(memory);
}

Identity* take_ending() noexcept {
  const Locked locked;
  Identity* identity = pool.ending;
  if (identity == nullptr) return nullptr;
  pool.ending = identity->next;
  unlist(identity);
  return identity;
}

// How many to start for those who wait; some more where many are in use. None before anybody has said how large.
unsigned to_start() noexcept {
  const Locked locked;
  if (pool.stack_size == 0) return 0;
  const unsigned waiting = pool.waiting.load(std::memory_order_acquire);
  const unsigned coming = pool.parked_count + pool.starting;
  if (waiting <= coming) return 0;
  const unsigned wish = std::max(waiting - coming, std::min(pool.alive / 2, kMostAtOnce));
  return std::min(wish, pool.most - std::min(pool.most, pool.alive));
}

void count_starting(int by) noexcept {
  const Locked locked;
  pool.starting += static_cast<unsigned>(by);
  pool.alive += static_cast<unsigned>(by);
}

void learn() noexcept {
  identity_mark_setup();
  const char* lacks = c_library_find().lacks;
  if (lacks == nullptr) values_learn();
  const Locked locked;
  if (lacks == nullptr) values_publish();
  pool.lacks.store(lacks, std::memory_order_relaxed);
  pool.outdated = false;
}

// It may have been too much for the kernel: who comes next says what he wants.
void forget_stack_size() noexcept {
  const Locked locked;
  pool.stack_size = 0;
}

size_t stack_size_wanted() noexcept {
  const Locked locked;
  return pool.stack_size;
}

bool some_parked() noexcept {
  const Locked locked;
  return pool.parked != nullptr;
}

bool outdated() noexcept {
  const Locked locked;
  return pool.outdated;
}

}  // namespace

void lender_ready(Identity* identity) noexcept {
  pool.lock.lock();
  --pool.starting;
  ++pool.made;
  identity->next_all = pool.all;
  if (pool.all != nullptr) pool.all->previous_all = identity;
  pool.all = identity;
  number_add(identity);
  park(identity);
  pool.lock.unlock();
  // From here on somebody may use this thread's control block.
  tell_news();
}

void identity_list(Identity* adopted) noexcept {
  const Locked locked;
  number_add(adopted);
}

const char* identity_unsupported() noexcept {
  if (const char* why = san::no_identities()) return why;
  const char* lacks = pool.lacks.load(std::memory_order_relaxed);
  return lacks != nullptr ? lacks : c_library_lacked();
}

void identity_set_most(unsigned most) noexcept { pool.most = most; }

Identity* identity_take(size_t stack_size) noexcept {
  const Locked locked;
  Identity* identity = unpark();
  for (; identity != nullptr && identity->stack.size < stack_size; identity = unpark()) let_end(identity);
  if (pool.ending != nullptr) keeper_call();
  return identity;
}

void identity_give_back(Identity* identity) noexcept {
  const Locked locked;
  show_stack(identity, identity->lenders);
  // A sanitizer's own thread-local variables lie among the program's.
  const bool again = identity->fresh || (!san::kOwnThreadLocals && values_known());
  if (again) {
    if (!identity->fresh) {
      values_reset(identity->thread_pointer, identity->has_keys);
      identity_mark(identity->lender, identity);
    }
    identity->used |= !identity->fresh;
    identity->fresh = true;
    park(identity);
    // One that was given back may be what somebody waits for.
    identity_news.fetch_add(1, std::memory_order_release);
  } else {
    pool.outdated = true;
    let_end(identity);
  }
  const bool first_used = again && identity->used && !pool.some_used;
  if (first_used) pool.some_used = true;
  if (pool.parked_count == kKept + 1 || pool.ending != nullptr || first_used || identity_waits()) keeper_call();
}

IdentityCounts identity_counts() noexcept {
  const Locked locked;
  return {pool.most, pool.parked_count, pool.alive - pool.parked_count - pool.starting, pool.made};
}

void identity_wait_begins(unsigned n, size_t stack_size) noexcept {
  const Locked locked;
  pool.stack_size = std::max(pool.stack_size, stack_size);
  pool.waiting.fetch_add(n, std::memory_order_acq_rel);
}
void identity_wait_ends(unsigned n) noexcept { pool.waiting.fetch_sub(n, std::memory_order_acq_rel); }

bool identity_exhausted() noexcept {
  const Locked locked;
  return pool.parked_count + pool.starting == 0 && pool.alive >= pool.most;
}

uint32_t identity_refusals() noexcept { return pool.refusals.load(std::memory_order_acquire); }

bool identity_refused_memory() noexcept { return pool.refused_memory.load(std::memory_order_relaxed); }

void identity_make() noexcept {
  while (Identity* identity = take_ending()) end_lender(identity);
  if (pool.waiting.load(std::memory_order_acquire) == 0) return;
  identity_learn();
  unsigned wish = to_start();
  int error = 0;
  for (; wish > 0 && c_library.lacks == nullptr; --wish) {
    count_starting(1);
    error = lender_start(stack_size_wanted());
    if (error == 0) continue;
    count_starting(-1);
    break;
  }
  if (wish > 0) {
    forget_stack_size();
    return identity_refused(error);
  }
  // Whoever starts tells when it is ready. Not if there are none: who waits would but call again, and again.
  if (some_parked()) tell_news();
}

void identity_learn() noexcept {
  if (!outdated()) return;
  const LoaderWork hold;
  learn();
}

bool identity_waits() noexcept { return pool.waiting.load(std::memory_order_acquire) != 0; }

void identity_refused(int error) noexcept {
  pool.refused_memory.store(error == ENOMEM, std::memory_order_relaxed);
  // Release, pairs with the acquire in identity_refusals().
  pool.refusals.fetch_add(1, std::memory_order_release);
  tell_news();
}

bool identity_surplus() noexcept {
  const Locked locked;
  return pool.parked_count > kKept || pool.some_used;
}

namespace {

// They count as parked, since they will be at once: who finds none sleeps until there is news.
Identity* take_used() noexcept {
  const Locked locked;
  pool.some_used = false;
  Identity* used = nullptr;
  for (Identity** at = &pool.parked; *at != nullptr;) {
    Identity* each = *at;
    if (!each->used) {
      at = &each->next;
      continue;
    }
    *at = each->next;
    each->next = used;
    used = each;
  }
  return used;
}

void give_memory_back() noexcept {
  Identity* used = take_used();
  if (used == nullptr) return;
  for (Identity* each = used; each != nullptr; each = each->next) {
    stack_shed(each->stack);
    each->used = false;
  }
  {
    const Locked locked;
    while (Identity* each = used) {
      used = each->next;
      each->next = pool.parked;
      pool.parked = each;
    }
  }
  if (identity_waits()) tell_news();
}

}  // namespace

void identity_shrink() noexcept {
  {
    const Locked locked;
    const unsigned idle = std::min(pool.fewest, pool.parked_count);
    for (unsigned n = idle > kKept ? (idle - kKept + 1) / 2 : 0; n > 0; --n) let_end(unpark());
    pool.fewest = pool.parked_count;
  }
  give_memory_back();
  identity_make();
}

namespace {

// Nobody starts others, and those depend on nobody. Returns with the lock.
void wait_for_starting() noexcept {
  for (;;) {
    pool.lock.lock();
    if (pool.starting == 0) return;
    pool.lock.unlock();
    sched_yield();
  }
}

}  // namespace

void identity_stop() noexcept {
  keeper_stop();
  wait_for_starting();
  pool.lock.unlock();
  while (Identity* identity = pool.all) {
    pool.all = identity->next_all;
    number_remove(identity);
    end_lender(identity);
  }
  set_id_give_back();
  identity_forget();
}

void identity_forget() noexcept {
  keeper_forget();
  pool.lock.unlock();
  forgotten = pool.all;
  numbers_forget();
  pool.parked = pool.all = pool.ending = nullptr;
  pool.stack_size = 0;
  pool.some_used = false;
  pool.parked_count = pool.alive = pool.starting = pool.fewest = 0;
  pool.outdated = true;
  pool.waiting.store(0, std::memory_order_relaxed);
}

void identity_unmap_forgotten() noexcept {
  while (Identity* each = forgotten) {
    forgotten = each->next_all;
    if (each->thread_pointer != thread_pointer()) stack_unmap(each->memory);
  }
}

// A lender that is only starting may hold a lock of a sanitizer's. The C library sees to its own, and keeps no stacks that are ours.
void identity_fork_begins() noexcept {
  if (!san::kAllocatorKnowsFork) {
    wait_for_starting();
  } else {
    pool.lock.lock();
  }
}
void identity_fork_ends() noexcept { pool.lock.unlock(); }

void identity_becomes_native(uintptr_t before) noexcept {
  identity_mark(pthread_self(), nullptr);
  rseq_unregister(before);
  rseq_register(thread_pointer());
}

void identity_begin(Identity* identity, const Stack& stack) noexcept {
  // Memory of the program's; of its own one, with all that lies on it, the C library knows.
  if (!stack.part) show_stack(identity, {reinterpret_cast<uintptr_t>(stack.low), stack.usable(), 0});
  if (!identity->fresh) return;
  identity->fresh = false;
  uselocale(LC_GLOBAL_LOCALE);  // also its tables of characters, which lie in thread-local variables
}

void identity_note_end(Identity* identity) noexcept {
  robust_release(identity->robust, identity->thread_pointer);
  const ValuesLeft left = values_left(identity->thread_pointer);
  identity->has_destructors = left.destructors;
  identity->has_keys = left.keys;
}

void identity_run_destructors() noexcept { values_run_destructors(); }

// ---- for debuggers --------------------------------------------------------------------------------

namespace {

constexpr DebugField kFields[] = {{"identity.tid", nullptr, offsetof(Identity, tid)}};

}  // namespace

constinit const DebugPart identity_debug_part{kFields, sizeof kFields / sizeof kFields[0]};

}  // namespace weft::rt
