// straight.hpp: the direct way (direct.hpp) of those for whom it takes a little more: that have an identity of their own, or that are
// homed, at the worker that runs them.
#pragma once

#include "worker/direct.hpp"
#include "worker/identity.hpp"

namespace weft::rt {

[[gnu::always_inline]] inline bool belongs_into_ring(const Worker* worker, const Unit* unit) noexcept {
  const uint32_t ways = unit_attributes(unit) & (flag::kDirect | flag::kExceptions | kHomedAttribute);
  return ways == flag::kDirect || (ways == (flag::kDirect | kHomedAttribute) &&
                                   unit->pool.load(std::memory_order_relaxed) == &worker->lane);
}

// Precondition: the next one is in the ring.
[[gnu::always_inline]] inline bool may_go_straight(const Worker* worker, const Unit* unit, const Unit* next) noexcept {
  return belongs_into_ring(worker, unit) && belongs_into_ring(worker, next) && worker->direct &&
         worker->lane.forks_empty() && (unit_is(unit, flag::kOwnState) || !has_exceptions()) &&
         next->state.load(std::memory_order_relaxed) == UnitState::kReady &&
         next->requests.load(std::memory_order_relaxed) == 0 &&
         (next->host->captive == nullptr || next->host->captive == klt_self());
}

// What one that has its own has set is on its stack meanwhile, and comes back as it goes on, as by enter_own(): so the next one finds anything, unless it
// has none. It is not compared with anything: that takes longer.
class FpLeft {
 public:
  [[gnu::always_inline]] FpLeft(const Worker* worker, const Unit* unit, const Unit* next) noexcept : mine_(owns_fp(unit)) {
    if (!mine_) return;
    fp_put(env_);
    if (__builtin_expect(!owns_fp(next), 0)) fp_restore(worker->fp);
  }
  FpLeft(const FpLeft&) = delete;
  FpLeft& operator=(const FpLeft&) = delete;
  [[gnu::always_inline]] ~FpLeft() {
    if (mine_) fp_get(env_);
  }

 private:
  [[gnu::always_inline]] static bool owns_fp(const Unit* unit) noexcept { return unit_is(unit, flag::kOwnState) && unit->identity->owns_fp; }

  const bool mine_;
  FpEnvironment env_;
};

// As switch_directly(). The thread pointer is written once; but a tool that keeps what it knows of a stack in thread-local storage
// is told of the switch on the KLT's, as everywhere: else it takes the next one's for what belongs to the stack that is left.
[[gnu::always_inline]] inline void go_straight(Worker* worker, Unit* unit, Unit* next) noexcept {
  const FpLeft fp(worker, unit, next);
  if constexpr (san::kOwnThreadLocals) {
    if (unit_is(unit, flag::kOwnState)) take_off_identity(unit);
  } else {
    Identity* left = unit_is(unit, flag::kOwnState) ? unit->identity : nullptr;
    if (left != nullptr) let_go_of_identity(unit);
    if (unit_is(next, flag::kOwnState)) {
      be_on(*next->identity, left);
    } else if (left != nullptr) {
      be_native(*left);
    }
  }
  switch_directly(worker, unit, next);
  if (unit_is(unit, flag::kOwnState)) put_on_identity(unit);  // it may be a scheduler that has resumed it
}

}  // namespace weft::rt
