// fork.cpp: weft_fork_push and weft_fork_pop, the hottest pair there is.
//
// A fork is a word on a private stack of the worker until somebody is hungry, or the ULT that pushed it
// leaves; then it becomes a unit (Lane::publish, Lane::settle_forks), and `unit` says which.
#include <cstdio>
#include <cstdlib>

#include "api/handles.hpp"
#include "api/join.hpp"
#include "klt/guard.hpp"
#include "worker/finish.hpp"
#include "worker/runtime.hpp"
#include "worker/worker.hpp"

namespace weft::rt {
namespace {

// Cannot be offered: the owner runs it itself.
void* const kKept = reinterpret_cast<void*>(uintptr_t{1});

bool push_into_lane(Worker* worker, weft_fork_t* fork) noexcept {
  Lane& lane = worker->lane;
  if (!lane.grow_forks()) return false;
  weft_fork_t** top = lane.fork_top.load(std::memory_order_relaxed);
  *top = fork;
  lane.fork_top.store(top + 1, std::memory_order_relaxed);
  return true;
}

bool pop_from_lane(Worker* worker, weft_fork_t* fork) noexcept {
  Lane& lane = worker->lane;
  weft_fork_t** top = lane.fork_top.load(std::memory_order_relaxed) - 1;
  if (*top != fork) return false;
  lane.fork_top.store(top, std::memory_order_relaxed);
  return true;
}

[[gnu::noinline]] bool leave_true() noexcept {
  guard_leave_slow();
  return true;
}

// No lane to offer it in, or no room there.
[[gnu::noinline]] void push_slow(weft_fork_t* fork) noexcept {
  fork->unit = kKept;
  Worker* worker = guard_enter();
  if (worker == nullptr) return;
  if (push_into_lane(worker, fork)) return guard_leave(worker);
  Unit* current = klt_current();
  if (current != nullptr && !unit_is(current, flag::kTasklet) && worker->home() != &worker->lane) {
    weft_unit_t unit = nullptr;
    guard_leave(worker);
    const auto run = [](void* arg) { fork_unit_main(arg); };
    if (weft_ult_create(run, fork, nullptr, &unit) == WEFT_OK) fork->unit = from_handle(unit);
    return;
  }
  guard_leave(worker);
}

// In a forked child: whoever has taken it stayed behind in the parent, in the middle of it.
[[noreturn]] void lost_fork() noexcept {
  std::fputs("weft: fork() was called while another worker ran a callable of weft_fork_push() "
             "(weft::fork_join): the child cannot wait for it\n", stderr);
  std::abort();
}

// It has become a unit, or has never been offered.
[[gnu::noinline]] bool pop_slow(weft_fork_t* fork) noexcept {
  Worker* worker = guard_enter();
  if (worker != nullptr && pop_from_lane(worker, fork)) {
    guard_leave(worker);
    return true;
  }
  if (fork->unit == kKept) {
    if (worker != nullptr) guard_leave(worker);
    return true;
  }
  if (worker == nullptr) lost_fork();  // the child of a fork() in a tasklet: the lane stayed behind
  Lane* lane = &worker->lane;
  lane->rewind_forks();
  auto* unit = static_cast<Unit*>(fork->unit);
  if (unit_state(unit) == UnitState::kForked) {
    if (unit->joiner.load(std::memory_order_relaxed) != kJoinNotStarted) lost_fork();
    recycle_unit(worker, unit);
    guard_leave(worker);
    return true;
  }
  Pool* pool = unit->pool.load(std::memory_order_relaxed);
  const bool ours = pool->builtin && unit->state.load(std::memory_order_relaxed) == UnitState::kFresh &&
                    (lane->try_claim(worker, unit) || pool->try_claim(worker, unit));
  if (ours) {
    recycle_unit_unrun(worker, unit);
    guard_leave(worker);
    return true;
  }
  // Another worker runs it. A tasklet cannot suspend: it blocks its worker.
  Waiter waiter;
  waiter_init(worker, waiter, WaitKind::kFork, unit);
  uintptr_t nobody = 0;
  if (unit->joiner.compare_exchange_strong(nobody, reinterpret_cast<uintptr_t>(&waiter),
                                           std::memory_order_acq_rel)) {
    worker = waiter_wait(worker, waiter);
  }
  if (!__builtin_expect(unit_needs_clear(unit), 0) || drop_values(worker, unit)) recycle_unit(worker, unit);
  guard_leave(worker);
  return false;
}

}  // namespace
}  // namespace weft::rt

using namespace weft::rt;

extern "C" {

// Both: everything but the common case is a tail call, so that it costs no saved registers.
void weft_fork_push(weft_fork_t* fork) {
  if (__builtin_expect(!klt_register_valid(), 0)) return push_slow(fork);
  Worker* worker = guard_try_enter();
  if (__builtin_expect(worker == nullptr, 0)) return push_slow(fork);
  Lane& lane = worker->lane;
  weft_fork_t** top = lane.fork_top.load(std::memory_order_relaxed);
  if (__builtin_expect(top >= lane.fork_end, 0)) return push_slow(fork);
  *top = fork;
  lane.fork_top.store(top + 1, std::memory_order_relaxed);
  guard_leave(worker);
}

bool weft_fork_pop(weft_fork_t* fork) {
  if (__builtin_expect(!klt_register_valid(), 0)) return pop_slow(fork);
  Worker* worker = guard_try_enter();
  if (__builtin_expect(worker == nullptr, 0)) return pop_slow(fork);
  Lane& lane = worker->lane;
  weft_fork_t** top = lane.fork_top.load(std::memory_order_relaxed) - 1;
  if (__builtin_expect(*top != fork, 0)) return pop_slow(fork);
  lane.fork_top.store(top, std::memory_order_relaxed);
  san::release(worker);
  klt_register_store32<kKltGuard>(0);
  if (__builtin_expect(klt_register_load<kKltAttention, uint32_t>() != 0, 0)) return leave_true();
  return true;
}

}  // extern "C"
