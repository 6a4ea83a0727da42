// unit.cpp: weft_ult_create and its kin: making, querying, moving units.
#include <cstring>

#include "api/handles.hpp"
#include "klt/guard.hpp"
#include "klt/time_slice.hpp"
#include "worker/identity.hpp"
#include "worker/process_fork.hpp"
#include "worker/runtime.hpp"
#include "worker/worker.hpp"

namespace weft::rt {
namespace {

constexpr weft_unit_attr_t kDefaultAttr = WEFT_UNIT_ATTR_INIT;

constexpr size_t kAddressSpace = size_t{1} << 47;

Pool* home_for(Worker* worker, const weft_unit_attr_t& attr) noexcept {
  if (attr.pool != nullptr) return from_handle(attr.pool);
  if (attr.worker != nullptr) return from_handle(attr.worker)->home();
  if (worker != nullptr) return worker->home();
  return foreign_home();
}

bool plain(const weft_unit_attr_t& attr) noexcept {
  return attr.technique <= WEFT_TECHNIQUE_SC || attr.technique == WEFT_TECHNIQUE_JOINER;
}

bool on_stack_of_identity(const weft_unit_attr_t& attr) noexcept {
  return attr.identity == WEFT_IDENTITY_OWN && attr.stack_memory == nullptr;
}

uint16_t flags_for(const weft_unit_attr_t& attr, bool tasklet, bool detached) noexcept {
  uint32_t flags = 0;
  if (tasklet && !detached && !attr.pinned) flags |= flag::kClaimable;
  if (detached) flags |= flag::kDetached;
  if (attr.pinned) flags |= flag::kPinned;
  if (attr.name != nullptr) flags |= flag::kCold | flag::kNamed;
  if (tasklet) return static_cast<uint16_t>(flags | flag::kTasklet);
  const bool own_state = attr.fp_environment == WEFT_FP_OWN || attr.identity == WEFT_IDENTITY_OWN;
  if (own_state) flags |= flag::kOwnState | flag::kCold;
  if (attr.stack_memory != nullptr || on_stack_of_identity(attr)) flags |= flag::kStackKept;
  const bool own = attr.stack_size != 0 || attr.stack_memory != nullptr || !plain(attr) || own_state;
  if (own) flags |= flag::kOwnStack;
  const bool says = attr.preemption != WEFT_PREEMPTION_DEFAULT || attr.blocking != WEFT_BLOCKING_DEFAULT;
  if (attr.stack_size != 0 || says) flags |= flag::kCold;
  const bool claimable = !own && !detached && !attr.pinned && attr.technique != WEFT_TECHNIQUE_SC && !says;
  if (claimable) flags |= flag::kClaimable;
  return static_cast<uint16_t>(flags);
}

int check_attr(const weft_unit_attr_t& attr, bool tasklet) noexcept {
  if (attr.priority < 0 || attr.priority >= WEFT_PRIORITIES) return WEFT_ERR_INVALID;
  if (attr.technique > WEFT_TECHNIQUE_JOINER) return WEFT_ERR_INVALID;
  if (attr.fp_environment > WEFT_FP_OWN || attr.preemption > WEFT_PREEMPTION_KLT_SWITCHING) return WEFT_ERR_INVALID;
  if (attr.identity > WEFT_IDENTITY_OWN || attr.blocking > WEFT_BLOCKING_AWARE) return WEFT_ERR_INVALID;
  if (attr.pool != nullptr && attr.worker != nullptr) return WEFT_ERR_INVALID;
  if (tasklet) {
    const bool more = attr.stack_memory != nullptr || attr.stack_size != 0 || attr.identity != WEFT_IDENTITY_WORKER;
    return more ? WEFT_ERR_INVALID : WEFT_OK;
  }
  if (attr.stack_memory != nullptr && attr.stack_size == 0) return WEFT_ERR_INVALID;
  if (attr.stack_size != 0 && attr.stack_size < WEFT_STACK_MIN) return WEFT_ERR_STACK_TOO_SMALL;
  if (attr.stack_size > kAddressSpace) return WEFT_ERR_INVALID;
  return WEFT_OK;
}

// The words that every fresh unit has set.
[[gnu::always_inline]] inline void set_up(Unit* unit, uint64_t header, weft_fn fn, void* arg,
                                          Pool* home) noexcept {
  WEFT_DCHECK(unit_transition_allowed(unit->state.load(std::memory_order_relaxed), UnitState::kFresh));
  unit->fn = fn;
  unit->arg = arg;
  unit->pool.store(home, std::memory_order_relaxed);
  unit->joiner.store(0, std::memory_order_relaxed);
  unit_set_header(unit, header);
}

int give_stack_now(Worker* worker, Unit* unit, const weft_unit_attr_t& attr, Identity* identity) noexcept {
  if (on_stack_of_identity(attr)) {
    unit->stack = &identity->stack;
  } else if (attr.stack_memory != nullptr) {
    unit->stack = stack_over(attr.stack_memory, attr.stack_size);
  } else if (attr.technique == WEFT_TECHNIQUE_SS && attr.stack_size == 0) {
    unit->stack = worker != nullptr ? worker->stacks.pop() : stack_acquire();
  } else if (attr.technique == WEFT_TECHNIQUE_SS) {
    const size_t size = attr.stack_size + preempt_stack_room();
    unit->stack = worker != nullptr ? worker->stacks.pop_other(size) : stack_map(size);
  } else {
    return WEFT_OK;
  }
  return unit->stack != nullptr ? WEFT_OK : WEFT_ERR_NO_MEMORY;
}

void set_own_state(Unit* unit, const weft_unit_attr_t& attr, Identity* identity) noexcept {
  uint8_t owns = 0;
  if (attr.fp_environment == WEFT_FP_OWN) {
    unit->cold.core.fp = fp_save();
    owns |= own::kFp;
  }
  if (identity != nullptr) {
    unit->identity = identity;
    identity->owns_fp = (owns & own::kFp) != 0;
    identity->unit.store(unit, std::memory_order_release);
    owns |= own::kIdentity;
  }
  unit->cold.own = owns;
}

int create_with(Worker* worker, bool tasklet, weft_fn fn, void* arg, const weft_unit_attr_t& attr,
                Identity* identity, weft_unit_t* out) noexcept {
  Unit* unit = worker != nullptr ? worker->units.pop() : unit_acquire_global();
  if (unit == nullptr) return WEFT_ERR_NO_MEMORY;
  const uint16_t flags = flags_for(attr, tasklet, out == nullptr);
  if ((flags & flag::kOwnStack) != 0) {
    if (const int error = give_stack_now(worker, unit, attr, identity); error != WEFT_OK) {
      recycle_fresh(worker, unit);
      return error;
    }
  }
  if (attr.name != nullptr) {
    std::strncpy(unit->cold.core.name, attr.name, sizeof unit->cold.core.name - 1);
    unit->cold.core.name[sizeof unit->cold.core.name - 1] = '\0';
  }
  if (attr.stack_size != 0) unit->cold.stack_size = attr.stack_size;
  if (attr.preemption != WEFT_PREEMPTION_DEFAULT) unit->cold.preemption = static_cast<uint8_t>(attr.preemption);
  if (attr.blocking != WEFT_BLOCKING_DEFAULT) unit->cold.blocking = static_cast<uint8_t>(attr.blocking);
  if ((flags & flag::kOwnState) != 0) set_own_state(unit, attr, identity);
  const bool homed = attr.pool != nullptr || attr.worker != nullptr || attr.pinned;
  const auto priority = static_cast<uint8_t>(attr.priority);
  set_up(unit, unit_header_of(UnitState::kFresh, flags, priority, homed), fn, arg,
         home_for(worker, attr));
  if (out != nullptr) *out = to_handle(unit);
  make_ready(worker, unit);
  return WEFT_OK;
}

int create_slow(bool tasklet, weft_fn fn, void* arg, const weft_unit_attr_t* attr,
                weft_unit_t* out) noexcept {
  if (!runtime_running()) return WEFT_ERR_UNINITIALIZED;
  if (fn == nullptr) return WEFT_ERR_INVALID;
  if (attr == nullptr) attr = &kDefaultAttr;
  if (const int error = check_attr(*attr, tasklet); error != WEFT_OK) return error;
  Identity* identity = nullptr;
  if (attr->identity == WEFT_IDENTITY_OWN) {
    if (const int error = identity_acquire(identity, attr->stack_size); error != WEFT_OK) return error;
  }
  Worker* worker = section_enter();
  const int error = create_with(worker, tasklet, fn, arg, *attr, identity, out);
  if (error != WEFT_OK && identity != nullptr) identity_give_back(identity);
  section_leave(worker);
  if (worker == nullptr) process_start_threads();
  return error;
}

// The default case, on a worker whose home is its lane. Everything else is a tail call, so that it costs
// no saved registers.
template <bool kTasklet>
[[gnu::always_inline]] inline int create(weft_fn fn, void* arg, const weft_unit_attr_t* attr,
                                         weft_unit_t* out) noexcept {
  constexpr uint16_t kFlags = flag::kClaimable | (kTasklet ? flag::kTasklet : 0);
  constexpr uint64_t kHeader =
      unit_header_of(UnitState::kFresh, kFlags, WEFT_PRIORITY_DEFAULT, false);
  if (__builtin_expect(attr != nullptr || fn == nullptr || out == nullptr || !klt_register_valid(), 0)) {
    return create_slow(kTasklet, fn, arg, attr, out);
  }
  Worker* worker = guard_try_enter();
  if (__builtin_expect(worker == nullptr, 0)) return create_slow(kTasklet, fn, arg, attr, out);
  Lane* lane = &worker->lane;
  if (__builtin_expect(worker->ring == nullptr || worker->units.head == nullptr || lane->ring_full(), 0)) {
    return create_slow(kTasklet, fn, arg, attr, out);
  }
  Unit* unit = worker->units.pop_unchecked();
  set_up(unit, kHeader, fn, arg, lane);
  *out = to_handle(unit);
  lane->push_private_unchecked(unit);
  return guard_leave_ok(worker);
}

// To be resumed; or somebody has resumed it already. That counts at once, so who looks before he resumes is not to find it blocked twice.
bool is_on_its_way(const Unit* unit) noexcept {
  return unit->slot.load(std::memory_order_relaxed) == static_cast<uint32_t>(WaitKind::kSuspend) &&
         unit->token.load(std::memory_order_acquire) != kTokenParked;
}

}  // namespace
}  // namespace weft::rt

using namespace weft::rt;

extern "C" {

int weft_ult_create(weft_fn fn, void* arg, const weft_unit_attr_t* attr, weft_unit_t* unit) {
  return create<false>(fn, arg, attr, unit);
}

int weft_tasklet_create(weft_fn fn, void* arg, const weft_unit_attr_t* attr, weft_unit_t* unit) {
  return create<true>(fn, arg, attr, unit);
}

int weft_ult_create_many(size_t n, weft_fn fn, void* args, size_t stride,
                         const weft_unit_attr_t* attr, weft_unit_t* units, size_t* created) {
  size_t done = 0;
  int error = WEFT_OK;
  for (; done < n; ++done) {
    void* arg = static_cast<char*>(args) + done * stride;
    error = weft_ult_create(fn, arg, attr, units != nullptr ? &units[done] : nullptr);
    if (error != WEFT_OK) break;
  }
  if (created != nullptr) *created = done;
  return error;
}

int weft_revive(weft_unit_t handle, weft_fn fn, void* arg) {
  if (!runtime_running()) return WEFT_ERR_UNINITIALIZED;
  Unit* unit = live_unit(handle);
  if (unit == nullptr || fn == nullptr) return WEFT_ERR_INVALID;
  if (unit->joiner.load(std::memory_order_acquire) != kJoinDone) return WEFT_ERR_STATE;
  Worker* worker = section_enter();
  const bool homed = unit->homed.load(std::memory_order_relaxed);
  const auto flags = static_cast<uint16_t>(unit->flags & ~(flag::kDirect | flag::kInPlace));
  uint64_t header = unit_header_of(UnitState::kFresh, flags, unit->priority, homed);
  if (unit->marked.load(std::memory_order_relaxed) != 0) header |= uint64_t{1} << 8;
  set_up(unit, header, fn, arg, unit->pool.load(std::memory_order_relaxed));
  make_ready(worker, unit);
  section_leave(worker);
  if (worker == nullptr) process_start_threads();
  return WEFT_OK;
}

int weft_cancel(weft_unit_t handle) {
  Unit* unit = live_unit(handle);
  if (unit == nullptr) return WEFT_ERR_INVALID;
  if (unit_is(unit, flag::kPrimary) || unit->exit_frame == nullptr) return WEFT_ERR_CONTEXT;
  unit_mark(unit);
  unit->requests.fetch_or(kCancelRequest, std::memory_order_release);
  static_cast<void>(weft_resume(handle));  // if it has suspended itself, it ends now
  return WEFT_OK;
}

int weft_migrate(weft_unit_t handle, weft_pool_t pool) {
  Unit* unit = live_unit(handle);
  if (unit == nullptr || pool == nullptr) return WEFT_ERR_INVALID;
  if (unit_is(unit, flag::kPinned)) return WEFT_ERR_STATE;
  // On its joiner's stack it can only go where the joiner may go.
  if (unit_state(unit) == UnitState::kRunning && unit->host != unit &&
      unit_is(unit->host, flag::kPinned)) {
    return WEFT_ERR_STATE;
  }
  unit->pool.store(from_handle(pool), std::memory_order_relaxed);
  unit->homed.store(true, std::memory_order_release);
  return WEFT_OK;
}

weft_unit_t weft_self(void) {
  return klt_register_valid() ? to_handle(klt_current()) : nullptr;
}

bool weft_is_ult(weft_unit_t handle) {
  Unit* unit = live_unit(handle);
  return unit != nullptr && !unit_is(unit, flag::kTasklet);
}

weft_unit_state_t weft_unit_state(weft_unit_t handle) {
  Unit* unit = from_handle(handle);
  if (unit == nullptr) return WEFT_UNIT_TERMINATED;
  switch (unit_state(unit)) {
    case UnitState::kFresh: return WEFT_UNIT_FRESH;
    case UnitState::kReady: return WEFT_UNIT_READY;
    case UnitState::kRunning:
    case UnitState::kInKernel: return WEFT_UNIT_RUNNING;
    case UnitState::kBlocked: return is_on_its_way(unit) ? WEFT_UNIT_RUNNING : WEFT_UNIT_BLOCKED;
    case UnitState::kFree:
    case UnitState::kTerminated:
    case UnitState::kForked: break;
  }
  return WEFT_UNIT_TERMINATED;
}

const char* weft_unit_name(weft_unit_t unit) {
  return unit != nullptr ? unit_name(from_handle(unit)) : "";
}

uint64_t weft_unit_id(weft_unit_t handle) {
  Unit* unit = live_unit(handle);
  return unit != nullptr ? unit_id(unit) : 0;
}

int weft_unit_priority(weft_unit_t handle) {
  Unit* unit = live_unit(handle);
  return unit != nullptr ? unit->priority : WEFT_PRIORITY_DEFAULT;
}

int weft_unit_set_priority(weft_unit_t handle, int priority) {
  Unit* unit = live_unit(handle);
  if (unit == nullptr || priority < 0 || priority >= WEFT_PRIORITIES) return WEFT_ERR_INVALID;
  unit->priority = static_cast<uint8_t>(priority);
  return WEFT_OK;
}

weft_pool_t weft_unit_pool(weft_unit_t handle) {
  Unit* unit = live_unit(handle);
  return unit != nullptr ? to_handle(unit->pool.load(std::memory_order_relaxed)) : nullptr;
}

size_t weft_unit_stack_size(weft_unit_t handle) {
  Unit* unit = live_unit(handle);
  if (unit == nullptr || unit_is(unit, flag::kTasklet)) return 0;
  return unit->stack != nullptr ? unit->stack->size : 0;
}

size_t weft_unit_stack_used(weft_unit_t handle) {
  Unit* unit = live_unit(handle);
  if (unit == nullptr || unit->stack == nullptr || !stack_options().watermark) return 0;
  return stack_used(*unit->stack);
}

int weft_invoke(weft_fn fn, void* arg) {
  // Asked first: once there is a ULT it runs, with an argument that the refused caller may have dropped.
  const weft_unit_t self = weft_self();
  if (self != nullptr && !weft_is_ult(self)) return WEFT_ERR_CONTEXT;
  weft_unit_t unit;
  const int error = weft_ult_create(fn, arg, nullptr, &unit);
  return error != WEFT_OK ? error : weft_free(&unit);
}

}  // extern "C"
