#include "worker/identity.hpp"

#include <errno.h>

#include <cstring>
#include <mutex>

#include "api/handles.hpp"
#include "identity/keeper.hpp"
#include "klt/guard.hpp"
#include "klt/kernel_sleep.hpp"
#include "klt/no_preemption.hpp"
#include "klt/own_signal.hpp"
#include "klt/time_slice.hpp"
#include "os/cpu_yield.hpp"
#include "os/futex.hpp"
#include "worker/lender_signal.hpp"
#include "worker/runtime.hpp"
#include "worker/spare_maker.hpp"
#include "worker/unit_signal.hpp"

namespace weft::rt {
namespace {

// With the guard up, or inside the gate.
template <class F>
auto in_section(F f) noexcept {
  Worker* worker = section_enter();
  const auto result = f();
  section_leave(worker);
  return result;
}

// ULTs that have one can be sent signals.
void keep_courier() noexcept {
  const NoPreemption scope;
  std::lock_guard hold(runtime.setup);
  static_cast<void>(own_signal_keep_courier());
}

// Where ULTs may be preempted with locks of the C library's, the maker of spare KLTs starts it: it carries no worker.
bool start_keeper() noexcept {
  if (keeper_runs() || spare_maker_tid() != 0) return true;
  const NoPreemption scope;
  std::lock_guard hold(runtime.setup);
  return keeper_start();
}

// Counted in: others make some for it. WEFT_ERR_BUSY: not yet.
int look_for_one(Identity*& identity, size_t stack_size, uint32_t refusals) noexcept {
  return in_section([&] {
    identity = identity_take(stack_size);
    if (identity != nullptr) return WEFT_OK;
    if (identity_unsupported() != nullptr) return WEFT_ERR_UNSUPPORTED;
    if (identity_exhausted()) return WEFT_ERR_LIMIT;
    if (identity_refusals() == refusals) return WEFT_ERR_BUSY;
    return identity_refused_memory() ? WEFT_ERR_NO_MEMORY : WEFT_ERR_NO_KLT;
  });
}

// The keeper, or whoever starts it, may wait for a lock of malloc's or the loader's, and a preempted ULT hold it. If that one waits for this very worker it
// goes on meanwhile: whether the caller may be preempted, or loses its worker when it sleeps, is the program's to say, and says nothing of Weft's own
// waits. One that comes to wait here later is found by the next look. Guard down.
void wait_for_news(uint32_t news) noexcept {
  constexpr uint64_t kPauseNs = 50'000, kLookAgainNs = 10'000'000;
  const bool others = leaves_its_klt() && in_section([] {
    Worker* worker = klt_register_valid() ? guard_worker() : nullptr;
    return worker != nullptr && preemption_allowed(klt_self()) && units_wait(worker);
  });
  if (!others || weft_sleep(kPauseNs) != WEFT_OK) futex_wait_for(identity_news, news, kLookAgainNs);
}

int wait_for_one(Identity*& identity, size_t stack_size) noexcept {
  const uint32_t refusals = identity_refusals();
  Worker* worker = section_enter();
  identity_wait_begins(1, stack_size);
  section_leave(worker);
  keep_courier();
  if (!start_keeper()) identity_refused(EAGAIN);
  int error;
  for (;;) {
    // Acquire, pairs with the release of whoever has news.
    const uint32_t news = identity_news.load(std::memory_order_acquire);
    error = look_for_one(identity, stack_size, refusals);
    if (error != WEFT_ERR_BUSY) break;
    keeper_call();
    if (!keeper_runs()) spare_maker_call();
    wait_for_news(news);
  }
  identity_wait_ends();
  return error;
}

void run_destructors(void*) { identity_run_destructors(); }

}  // namespace

size_t identity_stack_size(size_t wish) noexcept {
  return (wish != 0 ? wish : stack_options().default_size) + preempt_stack_room();
}

int identity_acquire(Identity*& identity, size_t stack_wish) noexcept {
  if (identity_unsupported() != nullptr) return WEFT_ERR_UNSUPPORTED;
  const size_t stack_size = identity_stack_size(stack_wish);
  identity = in_section([=] { return identity_take(stack_size); });
  return identity != nullptr ? WEFT_OK : wait_for_one(identity, stack_size);
}

void release_identity(Unit* unit) noexcept {
  if (!unit_owns(unit, own::kIdentity)) return;
  unit->cold.own &= static_cast<uint8_t>(~own::kIdentity);
  Identity* identity = unit->identity;
  unit->exceptions[0] = nullptr;
  if (unit->stack == &identity->stack) {
    stack_dispose(unit->stack);
    unit->stack = nullptr;
  }
  identity->unit.store(nullptr, std::memory_order_relaxed);
  std::atomic_signal_fence(std::memory_order_seq_cst);  // who looks at the unit has the fence
  lender_settle(*identity);
  identity_give_back(identity);
}

bool end_values_of_identity(Unit* unit) noexcept {
  if (!unit_owns(unit, own::kIdentity) || !unit->identity->has_destructors) return true;
  Worker* worker = section_enter();
  const Unit* self = worker != nullptr ? klt_current() : nullptr;
  const bool waits = worker == nullptr || (self != nullptr && !unit_is(self, flag::kTasklet | flag::kInPlace));
  // Its own pool may be gone.
  unit->pool.store(worker != nullptr ? worker->home() : foreign_home(), std::memory_order_relaxed);
  if (!waits) unit->flags.set(flag::kDetached);
  section_leave(worker);
  const weft_unit_t handle = to_handle(unit);
  weft_revive(handle, run_destructors, nullptr);
  if (waits) weft_join(handle);
  return waits;
}

void identity_body_ends(Unit* unit) noexcept {
  if (!unit_owns(unit, own::kIdentity)) return;
  if (unit_is(unit, flag::kDetached)) identity_run_destructors();
  identity_note_end(unit->identity);
}

int identity_set_name(const char* name) noexcept {
  const size_t length = std::strlen(name);
  if (length >= sizeof(UnitCold::core.name)) return ERANGE;
  return in_section([&] {
    Unit* unit = klt_current();
    std::memcpy(unit->cold.core.name, name, length + 1);
    unit->flags.set(flag::kCold | flag::kNamed);
    return 0;
  });
}

int identity_get_name(char* name, size_t size) noexcept {
  return in_section([&] {
    const char* own = unit_name(klt_current());
    if (std::strlen(own) >= size) return ERANGE;
    std::strcpy(name, own);
    return 0;
  });
}

void leave_signals(Identity* identity) noexcept {
  while (identity->sending.load(std::memory_order_acquire) != 0) cpu_yield();
  unit_signals_leave(*identity);
}

void enter_own_state(const Unit* host) noexcept {
  const uint8_t what = host->cold.own;
  if ((what & own::kFp) != 0) fp_get(host->cold.core.fp);
  if ((what & own::kIdentity) != 0) put_on_identity(host);
}

void leave_own_state(Worker* worker, Unit* host) noexcept {
  const uint8_t what = host->cold.own;
  if ((what & own::kFp) != 0) {
    fp_put(host->cold.core.fp);
    if (!(host->cold.core.fp == worker->fp)) fp_restore(worker->fp);
  }
  if ((what & own::kIdentity) != 0) take_off_identity(host);
}

}  // namespace weft::rt
