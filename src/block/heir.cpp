// heir.cpp: the KLT that takes a worker from the one that blocks, and carries it on.
#include "base/check.hpp"
#include "block/block.hpp"
#include "block/watch.hpp"
#include "klt/guard.hpp"
#include "klt/hand_over.hpp"
#include "klt/no_preemption.hpp"
#include "klt/process_gate.hpp"
#include "klt/time_slice.hpp"
#include "os/clock.hpp"
#include "worker/runtime.hpp"
#include "worker/worker.hpp"

namespace weft::rt {
namespace {

// How long one ULT more than there is room for keeps its worker. A block of a disk is mostly over by then.
constexpr uint64_t kMostKeptNs = 10'000'000;

// Whether no worker gets on: each has nothing to do, or its carrier sleeps in the kernel.
bool all_stand_still(const Worker* but) noexcept {
  const unsigned slots = runtime.worker_slots.load(std::memory_order_acquire);
  for (unsigned i = 0; i < slots; ++i) {
    const Worker* worker = runtime.workers[i].load(std::memory_order_acquire);
    if (worker == nullptr || worker == but || worker->state.load(std::memory_order_relaxed) != WorkerState::kActive) {
      continue;
    }
    const Klt* carrier = worker->carrier.load(std::memory_order_acquire);
    if (worker->asleep.load(std::memory_order_relaxed) == Sleep::kAwake && carrier != nullptr &&
        !watch_look(carrier).asleep) {
      return false;
    }
  }
  return true;
}

// There has been no room for this ULT for so long, in one call or in several.
bool kept_for_long(Worker* worker) noexcept {
  BlockPost& post = worker->post;
  const uint64_t now = now_ns();
  const uint64_t at = worker->stats.begun() + worker->stats.handovers.load(std::memory_order_relaxed);
  if (post.kept_at != at) post.kept_since = now;
  post.kept_at = at;
  return now - post.kept_since >= kMostKeptNs;
}

enum class Room { kNone, kThere, kBeyond };

// Progress comes before the bound. A worker that runs does not prove it: its ULT may spin until what waits here has run.
Room room_for(Worker* worker) noexcept {
  const uint32_t most = block_settings.klts.load(std::memory_order_relaxed);
  if (ults_in_kernel.load(std::memory_order_relaxed) < most) return Room::kThere;
  return all_stand_still(worker) || (kept_for_long(worker) && units_wait(worker)) ? Room::kBeyond : Room::kNone;
}

// Whether the unit wants its worker to wait with it. The victim's owner, until take_retract().
bool keeps_worker(const Unit* unit) noexcept {
  if (unit_is(unit, flag::kCold) && unit->cold.blocking != WEFT_BLOCKING_DEFAULT) {
    return unit->cold.blocking == WEFT_BLOCKING_UNAWARE;
  }
  const Pool* home = unit->pool.load(std::memory_order_relaxed);
  return home != nullptr && home->blocking.load(std::memory_order_relaxed) == WEFT_BLOCKING_UNAWARE;
}

// Whether the worker's carrier sleeps in the kernel and is not to keep it. The caller's, by take_begin().
bool may_be_taken(const Klt* victim, const Sight& sight) noexcept {
  if (!sight.asleep || stays_with_worker(victim)) return false;
  const Unit* unit = victim->current.load(std::memory_order_relaxed);
  return unit == nullptr || !keeps_worker(unit);
}

// The same of one that does not sleep just now, and keeps its ticks out.
bool is_past_its_slice(const Worker* worker, const Klt* victim) noexcept {
  const Unit* unit = victim->current.load(std::memory_order_relaxed);
  return unit != nullptr && !stays_with_worker(victim) && !keeps_worker(unit) && !preempt_leaves_alone(unit) && preempt_cannot_come(worker, victim, now_ns());
}

// Of units that could come from other workers later on, those workers' scouts tell.
bool nobody_waits(Worker* worker) noexcept {
  if (units_wait(worker)) return false;
  const bool steals = would_steal(worker);
  worker->post.would_steal.store(steals, std::memory_order_relaxed);
  return !steals || !others_have_to_spare(worker);
}

enum class Outcome { kNothing, kGivenAway, kMine };

// self: the heir; null: there is none.
Outcome take_from(Klt* self, Worker* worker, Klt* victim) noexcept {
  const Sight sight = watch_look(victim);
  if (!may_be_taken(victim, sight) && (sight.asleep || !is_past_its_slice(worker, victim))) return Outcome::kNothing;
  if (sight.asleep && sight.stamp != 0) count_block(worker, victim, sight);  // another one than the scout has seen
  if (block_mode.load(std::memory_order_relaxed) == BlockMode::Auto && nobody_waits(worker)) {
    scout_rest(worker);
    if (!units_wait(worker)) return Outcome::kNothing;
    scout_look(worker);
  }
  const Room room = room_for(worker);
  if (room == Room::kNone) return Outcome::kNothing;
  if (worker->parent == nullptr && !prepare_next_stack(worker)) return Outcome::kNothing;
  back_stop(victim);
  Outcome outcome = Outcome::kGivenAway;
  if (!(self != nullptr ? take_for_next_captive(worker, victim) : take_for_any_captive(worker, victim))) {
    if (self == nullptr) return Outcome::kNothing;
    Klt* me = self;
    // Otherwise it has been made a spare again.
    if (!worker->post.heir.compare_exchange_strong(me, nullptr, std::memory_order_acq_rel)) return Outcome::kNothing;
    self->heir_of.store(nullptr, std::memory_order_relaxed);
    const bool taken = take_finish(worker, victim, self);
    WEFT_CHECK(taken);  // its stack is prepared
    outcome = Outcome::kMine;
  }
  count_taken(worker, victim, sight);
  if (room == Room::kBeyond) block_counts.beyond.fetch_add(1, std::memory_order_relaxed);
  if (sight.asleep) {
    const uint64_t since = sight.since != 0 ? sight.since : worker->post.counted_at.load(std::memory_order_relaxed);
    block_counts.idle_ns.fetch_add(now_ns() - since, std::memory_order_relaxed);
  } else {
    note_deaf();
  }
  return outcome;
}

// True: the caller carries the worker.
bool inherit(Klt* self, Worker* worker) noexcept {
  Klt* victim = take_begin(worker);
  if (victim == nullptr) return false;
  switch (take_from(self, worker, victim)) {
    case Outcome::kMine: return true;
    case Outcome::kGivenAway: return false;
    default: take_retract(worker, victim); return false;
  }
}

}  // namespace

WayBack block_way_back(const Klt* self, Worker* worker, const Klt* victim) noexcept {
  if (!may_be_taken(victim, watch_look(victim))) return WayBack::kQueue;
  const bool has_turn = thread_cpu_ns() - self->stop.turn < block_turn();
  return has_turn || !units_wait(worker) ? WayBack::kInstead : WayBack::kBehindOthers;
}

void block_takes(Worker* worker, Klt* victim) noexcept {
  const Sight sight = watch_look(victim);
  back_stop(victim);
  count_block(worker, victim, sight);
  count_taken(worker, victim, sight);
}

void heir_is_captive(Worker* worker) noexcept {
  gate_enter();
  Klt* victim = take_begin(worker);
  if (victim != nullptr && take_from(nullptr, worker, victim) == Outcome::kNothing) take_retract(worker, victim);
  gate_leave();
}

bool block_inherit(Klt* self, Worker* worker) noexcept {
  BlockPost& post = worker->post;
  bind_carrier(self, worker);
  // Acquire, pairs with the release of the last heir: dismissed before we came here, we may find the call that told us of that
  // answered, by who has come after us. Then we see that we are no heir.
  uint32_t answered = post.answered.load(std::memory_order_acquire);
  for (;;) {
    rest_begin(self);
    // Acquire, pairs with the release in make_spare_again(), which then calls.
    while (post.call.load(std::memory_order_acquire) == answered && self->heir_of.load(std::memory_order_acquire) == worker) {
      futex_wait(post.call, answered);
    }
    rest_end(self);
    answered = post.call.load(std::memory_order_acquire);
    post.answered.store(answered, std::memory_order_release);
    if (self->heir_of.load(std::memory_order_acquire) != worker) return false;
    if (!inherit(self, worker)) continue;
    // Chosen, dismissed and chosen again before it ran, it has been woken once too often.
    self->wake.store(0, std::memory_order_relaxed);
    heir_choose(worker);
    return true;
  }
}

namespace {

// A spare again; it may be awake as an heir still.
void make_spare_again(Worker* worker, Klt* klt) noexcept {
  klt->heir_of.store(nullptr, std::memory_order_release);
  klt_put_back(klt);
  worker->post.call.fetch_add(1, std::memory_order_release);
  futex_wake_all(worker->post.call);  // a dismissed heir may wait there beside the new one
}

}  // namespace

bool heir_choose(Worker* worker) noexcept {
  std::atomic<Klt*>& heir = worker->post.heir;
  if (heir.load(std::memory_order_relaxed) != nullptr) return true;
  Klt* klt = klt_try_acquire(worker->cpu.load(std::memory_order_relaxed));
  if (klt == nullptr) return false;
  klt->heir_of.store(worker, std::memory_order_relaxed);
  klt_wake(klt, kBeHeir);  // before it can be called, and go on as something else
  Klt* none = nullptr;
  if (!heir.compare_exchange_strong(none, klt, std::memory_order_seq_cst)) {
    make_spare_again(worker, klt);
  } else if (worker->post.state.load(std::memory_order_seq_cst) == kPostEnds) {
    // Sequentially consistent, pairs with scouts_stop(), which first says that and then dismisses: a new carrier may choose an
    // heir only now. Either it sees this one, or we see that nobody wants one.
    heir_dismiss(worker);
  }
  return true;
}

void heir_dismiss(Worker* worker) noexcept {
  if (Klt* klt = worker->post.heir.exchange(nullptr, std::memory_order_seq_cst)) make_spare_again(worker, klt);
}

}  // namespace weft::rt
