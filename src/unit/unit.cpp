// unit.cpp: the picture in unit.hpp as a table, and what is rarely asked of a unit.
#include "unit/unit.hpp"

#include "os/overflow.hpp"
#include "unit/local.hpp"
#include "unit/stack.hpp"

namespace weft::rt {
namespace {

constexpr unsigned bit(UnitState state) noexcept { return 1u << static_cast<unsigned>(state); }

// For each state, in the order of the enum: where a unit may go from there.
constexpr unsigned kAllowed[] = {
    /* Free */ bit(UnitState::kFresh),
    // Terminated: cancelled before it started. Free: its creation failed half-way.
    /* Fresh */ bit(UnitState::kRunning) | bit(UnitState::kTerminated) | bit(UnitState::kFree),
    /* Ready */ bit(UnitState::kRunning),
    /* Running */ bit(UnitState::kReady) | bit(UnitState::kBlocked) | bit(UnitState::kInKernel) |
        bit(UnitState::kTerminated),
    // Running: the wake-up came before it had left its stack.
    /* Blocked */ bit(UnitState::kReady) | bit(UnitState::kRunning),
    // Running: its KLT has found a worker at once.
    /* InKernel */ bit(UnitState::kReady) | bit(UnitState::kRunning),
    /* Terminated */ bit(UnitState::kFree) | bit(UnitState::kFresh),
    /* Forked */ bit(UnitState::kFree),
};
static_assert(sizeof kAllowed / sizeof kAllowed[0] == static_cast<unsigned>(UnitState::kForked) + 1);

constinit std::atomic<uint64_t> last_id{0};

}  // namespace

bool unit_transition_allowed(UnitState from, UnitState to) noexcept {
  if (to == UnitState::kForked) return from != UnitState::kFree;  // a forked child, whatever it was in
  return (kAllowed[static_cast<unsigned>(from)] & bit(to)) != 0;
}

const char* unit_state_name(UnitState state) noexcept {
  switch (state) {
    case UnitState::kFree: return "free";
    case UnitState::kFresh: return "fresh";
    case UnitState::kReady: return "ready";
    case UnitState::kRunning: return "running";
    case UnitState::kBlocked: return "blocked";
    case UnitState::kInKernel: return "in kernel";
    case UnitState::kTerminated: return "terminated";
    case UnitState::kForked: return "left behind in the parent process";
  }
  return "in no state";
}

uint64_t unit_id(Unit* unit) noexcept {
  uint64_t id = unit->cold.id.load(std::memory_order_relaxed);
  if (id != 0) return id;
  // Not a flag: `flags` belongs to whoever runs the unit, and any thread may ask. Several may at
  // once; the first one's number counts.
  unit_mark(unit);
  const uint64_t fresh = last_id.fetch_add(1, std::memory_order_relaxed) + 1;
  return unit->cold.id.compare_exchange_strong(id, fresh, std::memory_order_relaxed) ? fresh : id;
}

uint64_t unit_ids_given() noexcept { return last_id.load(std::memory_order_relaxed); }

const char* unit_name(const Unit* unit) noexcept {
  return unit_is(unit, flag::kNamed) ? unit->cold.core.name : "";
}

void unit_clear_cold(Unit* unit) noexcept {
  UnitCold& cold = unit->cold;
  WEFT_DCHECK(cold.locals == nullptr);
  cold.id.store(0, std::memory_order_relaxed);
  cold.locals = nullptr;
  WEFT_DCHECK(!unit_owns(unit, own::kIdentity));  // given back before
  cold.own = 0;
  cold.stack_size = 0;
  cold.preemption = WEFT_PREEMPTION_DEFAULT;
  cold.blocking = WEFT_BLOCKING_DEFAULT;
  unit->requests.store(0, std::memory_order_relaxed);
  unit->marked.store(0, std::memory_order_relaxed);
  if (unit_is(unit, flag::kFront | flag::kNamed | flag::kOwnState)) cold.front = {};  // the next one begins without hooks
  unit->flags.clear(flag::kCold | flag::kNamed | flag::kOwnState);
}

void unit_release_more(Unit* unit) noexcept {
  if (unit_needs_clear(unit)) unit_clear_cold(unit);
  unit_release_kept_stack(unit);
}

void unit_release_kept_stack(Unit* unit) noexcept {
  if (!unit_is(unit, flag::kStackKept) || unit->stack == nullptr) return;
  if (!stack_intact(*unit->stack)) overflow_noticed(unit, *unit->stack);
  stack_dispose(unit->stack);
  unit->stack = nullptr;
}

void unit_drop_values(Unit* unit) noexcept {
  // First: a destructor may unmap the memory that the program has given for the stack.
  unit_release_kept_stack(unit);
  locals_destroy(unit);
  if (!unit_is(unit, flag::kFront)) return;
  FrontHooks* hooks = unit->cold.front.hooks;
  unit->cold.front.hooks = nullptr;
  if (hooks != nullptr) hooks->drop(reinterpret_cast<weft_unit_t>(unit), hooks);
}

}  // namespace weft::rt
