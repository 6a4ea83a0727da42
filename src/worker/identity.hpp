// identity.hpp (worker): identities on their way to and from units.
#pragma once

#include "arch/thread_pointer.hpp"
#include "identity/identity.hpp"
#include "klt/program_signals.hpp"
#include "worker/worker.hpp"

namespace weft::rt {

// How large the stack of an identity is to be, for a unit that wants one of this size; 0: the default.
size_t identity_stack_size(size_t wish) noexcept;
// One for a unit that is about to be made, and wants such a stack. Waits where more threads must be started first. Guard down.
// Errors: UNSUPPORTED, LIMIT, NO_KLT.
int identity_acquire(Identity*& identity, size_t stack_wish) noexcept;
// Of a unit that ends, has ended or never began. Guard up, or inside the gate.
void release_identity(Unit* unit) noexcept;

// Of a unit that has terminated and is freed next: what has destructors among its values is destroyed, by a ULT on that identity.
// Waits for it where the caller can; a scheduler cannot. False: the unit will free itself. Guard down.
bool end_values_of_identity(Unit* unit) noexcept;

// On the unit's own stack, after its function. Guard down.
void identity_body_ends(Unit* unit) noexcept;

// The ULT that calls, which has an identity; the name as pthread_setname_np() and pthread_getname_np() take it, and their errors.
int identity_set_name(const char* name) noexcept;
int identity_get_name(char* name, size_t size) noexcept;

// ---- switches: guard up ---------------------------------------------------------------------------

// Somebody sends it a signal: until that has come. What it has not taken is its lender's.
[[gnu::noinline]] void leave_signals(Identity* identity) noexcept;

[[gnu::always_inline]] inline bool has_signals(const Identity& identity) noexcept {
  return (identity.signals.load(std::memory_order_relaxed) | identity.in_hand.load(std::memory_order_relaxed)) != 0;
}

// This ULT, which has let go, has blocked these signals: those that the KLT has been sent for it are its own. `some`: we have sent it some.
[[gnu::noinline]] void leave_pending(Klt* self, uint64_t blocked, Identity& left, bool some) noexcept;

// Before the KLT gets another mask. To ask the kernel costs 0.1 us: for what all KLTs have blocked, from the first on, it is asked only where we have
// sent this one something.
[[gnu::always_inline]] inline void leave_blocked(Klt* self, uint64_t mask, Identity& left) noexcept {
  const uint64_t before = self->program_mask.load(std::memory_order_relaxed);
  if (__builtin_expect(before == 0, 1)) return;
  const bool sent = self->has_been_sent.load(std::memory_order_relaxed);
  if (sent) self->has_been_sent.store(false, std::memory_order_relaxed);
  const uint64_t blocked = sent ? before : before & ~(mask & self->signal_mask);
  if (blocked != 0) leave_pending(self, blocked, left, sent);
}

// No handler runs with the thread-local variables of one that has blocked the signal. To read the thread pointer costs a hundredth of
// writing it. `left`: who has just let go; null: nobody.
[[gnu::always_inline]] inline void be_on(const Identity& identity, Identity* left = nullptr) noexcept {
  Klt* self = klt_self();
  const uint64_t mask = identity.mask.load(std::memory_order_relaxed), before = self->program_mask.load(std::memory_order_relaxed);
  if (left != nullptr) leave_blocked(self, mask, *left);
  have_signal_mask(self, before | mask);
  if (thread_pointer() != identity.thread_pointer) thread_pointer_set(identity.thread_pointer);
  have_signal_mask(self, mask);
}
[[gnu::always_inline]] inline void be_native(Identity& left) noexcept {
  Klt* self = klt_self();
  const uint64_t mask = mask_between(self);
  leave_blocked(self, mask, left);
  thread_pointer_set(klt_thread_pointer());
  have_signal_mask(self, mask);
}

[[gnu::always_inline]] inline void put_on_identity(const Unit* host) noexcept {
  be_on(*host->identity);
  san::identity_changed(host->stack->low, host->stack->usable());
  host->identity->on.store(klt_self(), std::memory_order_relaxed);
  // Whoever lowers the guard takes them. The unit is `current` already: see unit_signal.hpp.
  if (__builtin_expect(has_signals(*host->identity) || host->identity->jumps.load(std::memory_order_relaxed), 0)) {
    klt_register_or32<kKltAttention>(attention::kSignals);
  }
}
// Before the thread pointer is another one. Senders have the fence; see unit_signal.hpp, lender_signal.hpp.
[[gnu::always_inline]] inline void let_go_of_identity(const Unit* host) noexcept {
  host->identity->on.store(nullptr, std::memory_order_relaxed);
  std::atomic_signal_fence(std::memory_order_seq_cst);
  const bool sending = host->identity->sending.load(std::memory_order_acquire) != 0;
  if (__builtin_expect(sending || has_signals(*host->identity), 0)) leave_signals(host->identity);
}
[[gnu::always_inline]] inline void take_off_identity(const Unit* host) noexcept {
  let_go_of_identity(host);
  be_native(*host->identity);
  san::identity_changed(host->stack->low, host->stack->usable());
}

// What the unit has of its own, and what its worker has of that meanwhile.
[[gnu::noinline]] void enter_own_state(const Unit* host) noexcept;
[[gnu::noinline]] void leave_own_state(Worker* worker, Unit* host) noexcept;

[[gnu::always_inline]] inline void enter_own(const Unit* host) noexcept {
  if (__builtin_expect(unit_is(host, flag::kOwnState), 0)) enter_own_state(host);
}
[[gnu::always_inline]] inline void leave_own(Worker* worker, Unit* host) noexcept {
  if (__builtin_expect(unit_is(host, flag::kOwnState), 0)) leave_own_state(worker, host);
}

}  // namespace weft::rt
