// klt.cpp: the life of a KLT, its base loop, and the spares.
//
// The spares lie in a small array of words that are exchanged, so that one can be taken in a signal
// handler, and without the ABA problem of a linked stack.
#include "klt/klt.hpp"

#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <mutex>
#include <new>
#include <utility>

#include "arch/pause.hpp"
#include "arch/thread_pointer.hpp"
#include "base/check.hpp"
#include "klt/guard.hpp"
#include "klt/kernel_sleep.hpp"
#include "klt/own_signal.hpp"
#include "klt/process_gate.hpp"
#include "klt/program_signals.hpp"
#include "klt/time_slice.hpp"
#include "os/cpu_yield.hpp"
#include "os/kernel_tid.hpp"
#include "os/overflow.hpp"
#include "os/signal_mask.hpp"
#include "os/thread_locals.hpp"
#include "unit/stack_map.hpp"
#include "worker/worker.hpp"

// The Itanium C++ ABI's, without a header.
namespace __cxxabiv1 {
struct __cxa_eh_globals;
extern "C" __cxa_eh_globals* __cxa_get_globals() noexcept;
}  // namespace __cxxabiv1

namespace weft::rt {

extern "C" {
constinit thread_local OwnWords weft_rt_own;
}
constinit OwnWords nobodys_words;

namespace {

constexpr size_t kMaxSpares = 64;
constexpr size_t kBaseSize = 256 * 1024;  // beyond the thread-local variables

struct Spares {
  std::atomic<Klt*> slots[kMaxSpares];
  std::atomic<unsigned> count{0};
  std::atomic<unsigned> limit{2};
  std::atomic<unsigned> coming{0};  // not in `count`: they have yet to begin
  std::atomic<unsigned> forked{0};  // KLTs that are kept as spares beyond the limit: see klt_has_forked()
};
constinit Spares spares;

// Records are type-stable: a taker may still look at one whose thread has ended. The thread of an
// ended one is joined, and its record used again, by the next create().
struct AllKlts {
  std::mutex lock;
  std::atomic<Klt*> head{nullptr};  // written under `lock`
  Klt* ended = nullptr;  // linked by next_ended
};
constinit AllKlts all_klts;
constinit std::atomic<uint32_t> sticky_attention{0};
constinit std::atomic<Klt*> initial_klt{nullptr};  // written by its own thread
sigset_t mask_before;  // which signals the thread that initialised Weft had blocked then
sigset_t first_mask;   // without ours: of each KLT

unsigned most_spares() noexcept {
  const size_t most = spares.limit.load(std::memory_order_relaxed) + spares.forked.load(std::memory_order_relaxed);
  return static_cast<unsigned>(std::min(most, kMaxSpares));
}

// False: there are enough spares already. For one that has forked only others of these are.
bool spares_put(Klt* klt) noexcept {
  const bool forked = klt->has_forked.load(std::memory_order_relaxed);
  while (spares.count.fetch_add(1, std::memory_order_relaxed) >= (forked ? kMaxSpares : most_spares())) {
    spares.count.fetch_sub(1, std::memory_order_relaxed);
    if (!forked || !klt_end_spare()) return false;
  }
  for (;;) {
    for (auto& slot : spares.slots) {
      Klt* empty = nullptr;
      // Release: whoever takes it sees the spare as it is now.
      if (slot.compare_exchange_strong(empty, klt, std::memory_order_release)) return true;
    }
  }
}

// True if nobody has taken it out of the slots yet.
bool spares_remove(Klt* klt) noexcept {
  for (auto& slot : spares.slots) {
    Klt* expected = klt;
    if (slot.compare_exchange_strong(expected, nullptr, std::memory_order_acq_rel)) {
      spares.count.fetch_sub(1, std::memory_order_relaxed);
      return true;
    }
  }
  return false;
}

void list_klt(Klt* klt) noexcept {
  std::lock_guard hold(all_klts.lock);
  klt->next_all = all_klts.head.load(std::memory_order_relaxed);
  // Release, pairs with the acquire in klt_for_each().
  all_klts.head.store(klt, std::memory_order_release);
}

// Not one that runs destructors still, which may wait for anybody: whoever is inside of Weft must not wait for it.
bool is_gone(Klt* klt) noexcept {
  if (klt->joinable) klt->joinable = pthread_tryjoin_np(klt->thread, nullptr) != 0;
  return !klt->joinable;
}

// The record of a KLT whose thread is no more; null: none.
Klt* reuse_ended() noexcept {
  Klt* klt;
  {
    std::lock_guard hold(all_klts.lock);
    Klt** link = &all_klts.ended;
    while (*link != nullptr && !is_gone(*link)) link = &(*link)->next_ended;
    klt = *link;
    if (klt == nullptr) return nullptr;
    *link = klt->next_ended;
    klt->ended = false;
    klt->tid.store(0, std::memory_order_relaxed);  // for whoever forks it is only starting
  }
  klt->state.store(KltState::kSpare, std::memory_order_relaxed);
  klt->wake.store(0, std::memory_order_relaxed);
  klt->attention.store(0, std::memory_order_relaxed);
  klt->bound_cpu.store(kBindingUnknown, std::memory_order_relaxed);
  block_klt_renewed(klt);
  return klt;
}

void list_ended(Klt* klt) noexcept {
  std::lock_guard hold(all_klts.lock);
  block_klt_ends(klt);
  klt->next_ended = all_klts.ended;
  klt->ended = true;
  klt->own.store(&nobodys_words, std::memory_order_relaxed);
  all_klts.ended = klt;
}

void init_on_thread(Klt* klt) noexcept {
  klt->exceptions = exceptions_of_thread();
  klt->thread_pointer = thread_pointer();
  klt->own.store(&weft_rt_own, std::memory_order_release);
  klt->signal_mask = klt->native_mask = klts_signal_mask();
  klt->program_mask.store(signal_mask_here(), std::memory_order_relaxed);  // more, if it has nothing to run yet
  // Release, pairs with own_signal_send(): whoever has its number looks at its masks.
  klt->tid.store(kernel_tid(), std::memory_order_release);
  overflow_install_thread(klt);
  klt->attention.fetch_or(sticky_attention.load(std::memory_order_relaxed),
                          std::memory_order_relaxed);
  klt_register_set(klt);
  preempt_klt_starts(klt);
  block_klt_starts(klt);
}

// One turn of the base loop. False: told to stop.
bool sleep_as_spare(Klt* self) noexcept {
  take_no_signals(self);
  for (;;) {
    const uint32_t what_for = klt_sleep(self);
    if (self->state.load(std::memory_order_acquire) == KltState::kStopping) return false;
    if (what_for == kGoOn) break;
    // Acquire, pairs with the release of whoever has made it a spare again.
    Worker* worker = self->heir_of.load(std::memory_order_acquire);
    if (worker != nullptr && block_inherit(self, worker)) break;
  }
  take_signals(self);
  self->state.store(KltState::kCarrying, std::memory_order_relaxed);
  return true;
}

// Makes the KLT one that others can find. The initial one is only found through its units.
void become_findable(Klt* self) noexcept {
  // Full fence, pairs with the one where a unit is deferred: either it sees Spare, or we see the unit.
  self->state.store(KltState::kSpare, std::memory_order_seq_cst);
  if (self->initial) {
    if (Unit* unit = self->deferred.exchange(nullptr, std::memory_order_seq_cst)) {
      klt_return_deferred(unit);
    }
  } else if (!spares_put(self)) {
    self->state.store(KltState::kStopping, std::memory_order_relaxed);
    klt_wake(self);  // too many of us: this one ends
  }
}

[[noreturn]] __attribute__((no_sanitize("thread"))) void base_entry(void* klt, void* first, void* a,
                                                         void* b) noexcept {
  auto* self = static_cast<Klt*>(klt);
  if (first != nullptr) {  // else: the thread's own start, on this very stack
    san::after_switch(self->base.san);
    san::stack_reused(self->base.low, stack_pointer());
    take_no_signals(self);  // before somebody goes on who may block one and wait for it
    reinterpret_cast<BaseAction>(first)(a, b);
    become_findable(self);
  }
  if (sleep_as_spare(self)) {
    klt_carry(self, guard_worker());
  }
  context_resume(&self->exit);
}

// It may be found, woken, and told to end, from here on: it sleeps only later, and will see that.
void come_to_spares(Klt* self) noexcept {
  spares.coming.fetch_sub(1, std::memory_order_relaxed);
  klt_put_back(self);
  self->there();
}

void* thread_main(void* arg) noexcept {
  auto* self = static_cast<Klt*>(arg);
  self->guard.store(1, std::memory_order_relaxed);  // before its number is known: from then on the gate looks at it
  init_on_thread(self);
  stack_adopt(self->base, self->memory + kPage, self->memory + self->memory_bytes);
  // Below this frame, out of reach of whatever it still needs.
  const auto top = (reinterpret_cast<uintptr_t>(stack_pointer()) - 1024) & ~uintptr_t{63};
  self->base_top = reinterpret_cast<void*>(top);
  if (self->there != nullptr) come_to_spares(self);
  context_switch_to_entry(&self->exit, self->base_top, base_entry, self, nullptr, nullptr, nullptr);
  preempt_klt_ends(self);
  overflow_remove_thread(self);
  klt_register_set(nullptr);
  if (self->has_forked.exchange(false, std::memory_order_relaxed)) spares.forked.fetch_sub(1, std::memory_order_relaxed);
  list_ended(self);
  return nullptr;
}

// The memory of the first few threads of an ended runtime, for the next one: mapping it, and touching it again, would
// take a fifth of what it takes to start and end one. As the C library does with its own.
std::atomic<char*> kept_memory[8];

size_t memory_size() noexcept {
  static const size_t size = kPage + kBaseSize + round_to_page(thread_locals());
  return size;
}

// The memory of its stack is ours, so that its bounds are known: pthread_getattr_np() allocates, and what fails on the
// new thread can be told to nobody.
char* acquire_memory() noexcept {
  for (auto& slot : kept_memory) {
    if (char* memory = slot.exchange(nullptr, std::memory_order_acquire)) return memory;
  }
  char* memory = stack_memory_map(memory_size());
  // Not a guard of the kernel's (stack_guard_install()): Valgrind takes for the thread's stack what is mapped in one
  // piece, and does not see those.
  if (memory != nullptr && mprotect(memory, kPage, PROT_NONE) != 0) {
    stack_memory_unmap(memory, memory_size());
    memory = nullptr;
  }
  return memory;
}

void release_memory(char* memory) noexcept {
  for (auto& slot : kept_memory) {
    char* empty = nullptr;
    if (slot.compare_exchange_strong(empty, memory, std::memory_order_release)) return;
  }
  stack_memory_unmap(memory, memory_size());
}

Klt* make_klt() noexcept {
  auto* klt = new (std::nothrow) Klt;
  if (klt == nullptr) return nullptr;
  klt->memory_bytes = memory_size();
  klt->memory = acquire_memory();
  if (klt->memory != nullptr) return klt;
  delete klt;
  return nullptr;
}

void delete_klt(Klt* klt) noexcept {
  block_klt_gone(klt, true);
  release_memory(klt->memory);
  delete klt;
}

bool start_thread(Klt* klt) noexcept {
  pthread_attr_t attr;
  if (pthread_attr_init(&attr) != 0) return false;
  int result = pthread_attr_setstack(&attr, klt->memory + kPage, klt->memory_bytes - kPage);
  // A thread starts with the signal mask of whoever makes it: that is not to be a ULT's, nor one that blocks all. It is a spare at first.
  sigset_t before;
  sigset_t spares_mask = first_mask;
  for (uint64_t others = signals_of_others(); others != 0; others &= others - 1) sigaddset(&spares_mask, __builtin_ctzll(others) + 1);
  set_signal_mask(SIG_SETMASK, &spares_mask, &before);
  klt->joinable = true;  // before it runs: it may have been a spare, and ended, when we get on
  if (result == 0) result = pthread_create(&klt->thread, &attr, thread_main, klt);
  if (result != 0) klt->joinable = false;
  set_signal_mask(SIG_SETMASK, &before, nullptr);
  pthread_attr_destroy(&attr);
  return result == 0;
}

// The thread was made for somebody, or to be a spare: see klt_start_spare().
Klt* create(void (*there)()) noexcept {
  Klt* klt = reuse_ended();
  const bool reused = klt != nullptr;
  if (!reused) klt = make_klt();
  if (klt == nullptr) return nullptr;
  klt->there = there;
  // First: its thread asks whether there are ticks, and whoever starts them goes through the list. One of them sees it.
  if (!reused) list_klt(klt);
  if (start_thread(klt)) return klt;
  klt->state.store(KltState::kStopping, std::memory_order_relaxed);
  list_ended(klt);
  return nullptr;
}

}  // namespace

void wait_a_little(unsigned& spins) noexcept {
  constexpr unsigned kSpinsBeforeYield = 1000;
  if (++spins < kSpinsBeforeYield) {
    cpu_pause();
  } else {
    cpu_yield();  // the one who is waited for has lost its core
  }
}

ExceptionGlobals* exceptions_of_thread() noexcept {
  return reinterpret_cast<ExceptionGlobals*>(__cxxabiv1::__cxa_get_globals());
}

uint64_t klts_signal_mask() noexcept { return kernel_set(first_mask); }

namespace {

// Of the thread that was adopted: it blocks ours again, if it did.
void give_mask_back() noexcept {
  sigset_t again;
  sigemptyset(&again);
  for (int signal = SIGRTMIN; signal <= SIGRTMAX; ++signal) {
    if (sigismember(&mask_before, signal) == 1 && sigismember(&first_mask, signal) == 0) sigaddset(&again, signal);
  }
  set_signal_mask(SIG_BLOCK, &again, nullptr);
}

}  // namespace

Klt* klt_adopt() noexcept {
  auto* klt = new (std::nothrow) Klt;
  if (klt == nullptr) return nullptr;
  Stack* base = stack_acquire();  // its own stack is the primary ULT's
  if (base == nullptr) {
    delete klt;
    return nullptr;
  }
  klt->base = *base;
  klt->base_top = base->top;
  klt->base.next = base;  // to give it back
  klt->initial = true;
  klt->thread = pthread_self();
  klt->state.store(KltState::kCarrying, std::memory_order_relaxed);
  set_signal_mask(SIG_SETMASK, nullptr, &mask_before);
  first_mask = mask_before;
  own_signals_leave_out(first_mask);
  set_signal_mask(SIG_SETMASK, &first_mask, nullptr);
  init_on_thread(klt);
  initial_klt.store(klt, std::memory_order_release);  // pairs with the acquire in klt_for_each()
  return klt;
}

void klt_release_adopted(Klt* klt) noexcept {
  {
    std::lock_guard hold(all_klts.lock);  // see any_in()
    initial_klt.store(nullptr, std::memory_order_relaxed);
  }
  preempt_klt_ends(klt);
  overflow_remove_thread(klt);
  forget_tag(klt);  // the program's own code looks at it without a call
  klt_register_set(nullptr);
  stack_dispose(klt->base.next);
  give_mask_back();
  block_klt_gone(klt, true);
  delete klt;  // not its memory: after a fork() it may have some, on which the thread goes on
}

bool klt_start_spare(void (*there)()) noexcept {
  spares.coming.fetch_add(1, std::memory_order_relaxed);
  if (create(there) != nullptr) return true;
  spares.coming.fetch_sub(1, std::memory_order_relaxed);
  return false;
}

unsigned klt_spares_coming() noexcept { return spares.coming.load(std::memory_order_relaxed); }

void klt_put_back(Klt* klt) noexcept {
  if (!spares_put(klt)) {
    klt->state.store(KltState::kStopping, std::memory_order_release);
    klt_wake(klt);
  }
}

Klt* klt_try_acquire(int cpu) noexcept {
  if (spares.count.load(std::memory_order_relaxed) == 0) return nullptr;
  for (const bool any : {false, true}) {
    for (auto& slot : spares.slots) {
      // Records are type-stable: this one may be taken, and even ended, while we look.
      const Klt* seen = slot.load(std::memory_order_acquire);
      if (seen == nullptr || !(any || seen->bound_cpu.load(std::memory_order_relaxed) == cpu)) continue;
      // Acquire, pairs with the release in spares_put().
      if (Klt* klt = slot.exchange(nullptr, std::memory_order_acquire)) {
        spares.count.fetch_sub(1, std::memory_order_relaxed);
        return klt;
      }
    }
  }
  return nullptr;
}

Klt* klt_acquire(int cpu) noexcept {
  Klt* klt = klt_try_acquire(cpu);
  return klt != nullptr ? klt : create(nullptr);
}

void klt_set_sticky_attention(uint32_t bits) noexcept {
  const uint32_t old = sticky_attention.exchange(bits, std::memory_order_seq_cst);
  std::lock_guard hold(all_klts.lock);
  const auto set = [=](Klt* klt) {
    klt->attention.fetch_and(~old, std::memory_order_relaxed);
    klt->attention.fetch_or(bits, std::memory_order_relaxed);
  };
  if (Klt* klt = initial_klt.load(std::memory_order_acquire)) set(klt);
  for (Klt* klt = all_klts.head.load(std::memory_order_relaxed); klt != nullptr; klt = klt->next_all) set(klt);
}

void klt_for_each(void (*f)(Klt*, void*), void* context) noexcept {
  if (Klt* klt = initial_klt.load(std::memory_order_acquire)) f(klt, context);
  // No lock: this also runs in signal handlers. Records are only ever added.
  Klt* klt = all_klts.head.load(std::memory_order_acquire);
  for (; klt != nullptr; klt = klt->next_all) f(klt, context);
}

namespace {

bool any_in(const void* object) noexcept {
  const uint32_t in = guard_in(object);
  // Acquire, pairs with the store by which it leaves the object.
  const auto is_in = [in](const Klt* klt) {
    return klt->guard.load(std::memory_order_acquire) == in ||
           klt->own.load(std::memory_order_acquire)->mutex.load(std::memory_order_acquire) == in;
  };
  std::lock_guard hold(all_klts.lock);  // the records are not deleted meanwhile, and their threads do not end
  const Klt* klt = initial_klt.load(std::memory_order_acquire);
  if (klt != nullptr && is_in(klt)) return true;
  for (klt = all_klts.head.load(std::memory_order_relaxed); klt != nullptr; klt = klt->next_all) {
    if (is_in(klt)) return true;
  }
  return false;
}

}  // namespace

// Not with the lock held all the time: a signal handler of the program's may keep one there.
void klt_wait_until_none_in(const void* object) noexcept {
  for (unsigned spins = 0; any_in(object);) wait_a_little(spins);
}

void klt_set_spare_limit(unsigned limit) noexcept {
  spares.limit.store(std::min<unsigned>(limit, kMaxSpares), std::memory_order_relaxed);
}

unsigned klt_spares() noexcept { return spares.count.load(std::memory_order_relaxed); }

void klt_has_forked(Klt* klt) noexcept {
  if (!klt->initial && !klt->has_forked.exchange(true, std::memory_order_relaxed)) {
    spares.forked.fetch_add(1, std::memory_order_relaxed);
  }
}
unsigned klts_that_have_forked() noexcept { return spares.forked.load(std::memory_order_relaxed); }

bool klt_end_spare() noexcept {
  for (auto& slot : spares.slots) {
    Klt* klt = slot.load(std::memory_order_acquire);  // see klt_try_acquire()
    if (klt == nullptr || klt->has_forked.load(std::memory_order_relaxed)) continue;
    if (!slot.compare_exchange_strong(klt, nullptr, std::memory_order_acquire)) continue;
    spares.count.fetch_sub(1, std::memory_order_relaxed);
    klt->state.store(KltState::kStopping, std::memory_order_release);
    klt_wake(klt);
    return true;
  }
  return false;
}

void klt_stop_all() noexcept {
  Klt* all = all_klts.head.load(std::memory_order_relaxed);
  // One may be on its way to the slots still: until it is there, or has decided to end by itself.
  for (Klt* klt = all; klt != nullptr; klt = klt->next_all) {
    while (klt->state.load(std::memory_order_acquire) != KltState::kStopping) {
      if (spares_remove(klt)) {
        klt->state.store(KltState::kStopping, std::memory_order_release);
        klt_wake(klt);
      } else {
        sched_yield();
      }
    }
  }
  // All of them first: one may be about to look at another, as a worker's carrier of before.
  for (Klt* klt = all; klt != nullptr; klt = klt->next_all) {
    if (klt->joinable) pthread_join(klt->thread, nullptr);
  }
  {
    std::lock_guard hold(all_klts.lock);  // see any_in()
    all_klts.head.store(nullptr, std::memory_order_relaxed);
    all_klts.ended = nullptr;
  }
  while (Klt* klt = all) {
    all = klt->next_all;
    delete_klt(klt);
  }
}

void klts_lock() noexcept { all_klts.lock.lock(); }
void klts_unlock() noexcept { all_klts.lock.unlock(); }

// After Weft the thread runs destructors of the program's thread-local variables, which may wait for anybody: for the gate,
// or for a lock that the one who forks holds. So in general nobody waits for its end; what the program and its allocator
// hold there is theirs to look after at fork(). An allocator that does not do that is waited for.
bool klt_has_left(Klt* klt) noexcept {
  if (!klt->ended) return false;
  if (san::kAllocatorKnowsFork || (klt->joinable && pthread_equal(klt->thread, pthread_self()) != 0)) return true;
  return is_gone(klt);
}

namespace {

void forget(Klt* klt) noexcept {
  block_klt_gone(klt, false);
  overflow_forget_thread(klt);
  if (klt->memory != nullptr && !san::kLooksAtThreadsLeftBehind) stack_memory_unmap(klt->memory, klt->memory_bytes);
  delete klt;  // a base stack from the cache has gone with all stacks
}

}  // namespace

void klts_forget_all_but(Klt* keep) noexcept {
  for (auto& slot : spares.slots) slot.store(nullptr, std::memory_order_relaxed);
  spares.count.store(0, std::memory_order_relaxed);
  spares.coming.store(0, std::memory_order_relaxed);
  spares.forked.store(0, std::memory_order_relaxed);
  if (keep != nullptr) keep->has_forked.store(false, std::memory_order_relaxed);
  Klt* all = all_klts.head.exchange(nullptr, std::memory_order_relaxed);
  all_klts.ended = nullptr;
  while (Klt* klt = all) {
    all = klt->next_all;
    if (klt != keep) forget(klt);
  }
  Klt* initial = initial_klt.exchange(nullptr, std::memory_order_relaxed);
  if (initial != nullptr && initial != keep) forget(initial);
}

bool klt_become_initial(Klt* self) noexcept {
  Stack* base = stack_acquire();
  if (base == nullptr) return false;
  self->base = *base;
  self->base_top = base->top;
  self->base.next = base;
  self->initial = true;
  self->joinable = false;
  self->next_all = nullptr;
  self->thread = pthread_self();
  self->exceptions = exceptions_of_thread();  // those of the identity that has forked, if it was one
  self->thread_pointer = thread_pointer();
  self->own.store(&weft_rt_own, std::memory_order_relaxed);
  self->tid.store(kernel_tid(), std::memory_order_relaxed);
  self->take.store(Take::kNone, std::memory_order_relaxed);
  self->state.store(KltState::kCarrying, std::memory_order_relaxed);
  self->wake.store(0, std::memory_order_relaxed);
  self->deferred.store(nullptr, std::memory_order_relaxed);
  self->held.store(nullptr, std::memory_order_relaxed);
  self->held_back = nullptr;
  self->given = nullptr;
  self->call_in.store(false, std::memory_order_relaxed);
  self->tick_timer.store(-1, std::memory_order_relaxed);  // it stayed in the parent
  self->native_mask = self->program_mask.load(std::memory_order_relaxed);  // the identity that has forked is the thread's own
  self->stand_ins_coming.store(0, std::memory_order_relaxed);
  self->timer_changes.store(0, std::memory_order_relaxed);
  preempt_klt_starts(self);
  self->heir_of.store(nullptr, std::memory_order_relaxed);
  block_klt_gone(self, false);
  block_klt_starts(self);
  self->attention.store(sticky_attention.load(std::memory_order_relaxed), std::memory_order_relaxed);
  initial_klt.store(self, std::memory_order_release);  // pairs with the acquire in klt_for_each()
  return true;
}

namespace {

// The same in a signal handler, where nobody rests at the gate: who forks may need what the interrupted code holds. So woken or
// not, while the gate is closed it can be let out.
uint32_t sleep_in_handler(Klt* self) noexcept {
  rest_begin(self);
  for (;;) {
    // Acquire, pairs with the release in klt_wake().
    const uint32_t what_for = self->wake.load(std::memory_order_acquire);
    if (what_for == 0) {
      futex_wait(self->wake, 0);
    } else if (what_for == kGoOut) {
      break;
    } else if (rest_ends(self)) {
      break;
    }
  }
  return self->wake.exchange(0, std::memory_order_acquire);
}

}  // namespace

uint32_t klt_sleep(Klt* self) noexcept {
  self->slept_on.store(cpu_now(), std::memory_order_relaxed);
  if (self->passes_gate.load(std::memory_order_relaxed)) return sleep_in_handler(self);
  // Acquire, pairs with the release in klt_wake(): what the waker has given us is visible.
  rest_begin(self);
  // By one step: who is woken to be an heir may be dismissed, and woken to go on, at any time.
  uint32_t what_for;
  while ((what_for = self->wake.exchange(0, std::memory_order_acquire)) == 0) futex_wait(self->wake, 0);
  rest_end(self);
  return what_for;
}

void klt_wake(Klt* klt, uint32_t what_for) noexcept {
  klt->wake.store(what_for, std::memory_order_release);
  futex_wake(klt->wake, 1);
}

WEFT_LEFT_FOR_GOOD void klt_go_to_base(Klt* self, Context* save, Stack* from, BaseAction first,
                                       void* a, void* b) noexcept {
  san::before_switch(from->san, self->base.san, self->base.low, self->base.usable(),
                     save == nullptr);
  if (save == nullptr) {
    context_start(self->base_top, base_entry, self, reinterpret_cast<void*>(first), a, b);
  }
  context_switch_to_entry(save, self->base_top, base_entry, self, reinterpret_cast<void*>(first), a,
                          b);
}

namespace {

constexpr DebugField kFields[] = {
    {"klts", &all_klts.head, 0},
    {"klt.initial", &initial_klt, 0},
    {"klt.next", nullptr, offsetof(Klt, next_all)},
    {"klt.tid", nullptr, offsetof(Klt, tid)},
    {"klt.current", nullptr, offsetof(Klt, current)},
    {"klt.worker", nullptr, offsetof(Klt, worker)},
    {"klt.state", nullptr, offsetof(Klt, state)},
    {"klt.held", nullptr, offsetof(Klt, held)},
    {"klt_state.captive", nullptr, static_cast<uint64_t>(KltState::kCaptive)},
};

}  // namespace

constinit const DebugPart klt_debug_part{kFields, sizeof kFields / sizeof kFields[0]};

}  // namespace weft::rt
