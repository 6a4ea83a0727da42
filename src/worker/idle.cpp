// idle.cpp: how a worker that finds nothing looks round, sleeps, and is woken. Steps as in README.md.
#include <algorithm>

#include "arch/pause.hpp"
#include "klt/hand_over.hpp"
#include "klt/kernel_sleep.hpp"
#include "klt/program_signals.hpp"
#include "os/clock.hpp"
#include "os/futex.hpp"
#include "os/membarrier.hpp"
#include "worker/bell.hpp"
#include "worker/packing.hpp"
#include "worker/pool_sleep.hpp"
#include "worker/runtime.hpp"
#include "worker/timers.hpp"
#include "worker/worker.hpp"

namespace weft::rt {
namespace {

constexpr unsigned kLooksPerClock = 8;          // the clock costs 25 ns
constexpr uint64_t kLookOnNs = 2000;            // between two offers of the CPU
constexpr uint64_t kStillTakesNs = 5000;        // signals, while it looks round: to change the mask costs 0.1 µs
constexpr uint64_t kTrimPeriodNs = 100'000'000;  // memory that nobody wanted for so long can go
constexpr uint64_t kFirstLookNs = 1'000'000'000;  // nothing that runs leaves all workers asleep for so long

template <class F>
void for_each_other(Worker* self, F&& f) noexcept {
  const unsigned slots = runtime.worker_slots.load(std::memory_order_acquire);
  for (unsigned i = 0; i < slots; ++i) {
    Worker* worker = runtime.workers[i].load(std::memory_order_acquire);
    if (worker != nullptr && worker != self) f(worker);
  }
}

// False: nobody carries it. Whoever does next sees that we are hungry (set_carrier()).
bool tell_hunger(Worker* victim) noexcept {
  Klt* klt = victim->carrier.load(std::memory_order_acquire);
  if (klt == nullptr) return false;
  if ((klt->attention.load(std::memory_order_relaxed) & attention::kHungry) == 0) {
    klt->attention.fetch_or(attention::kHungry, std::memory_order_seq_cst);
  }
  return true;
}

// Orders for this worker itself, that it can carry out now.
bool shall_stop_or_change(Worker* worker) noexcept {
  Sched* sched = worker->sched;
  if (sched->exit.load(std::memory_order_acquire)) return true;
  if (worker->state.load(std::memory_order_acquire) == WorkerState::kActive &&
      worker->new_sched.load(std::memory_order_acquire) == nullptr &&
      !sched->finish.load(std::memory_order_acquire)) {
    return false;
  }
  return !sched->patient || sched_should_stop(sched);
}

bool has_orders(Worker* worker) noexcept {
  return shall_stop_or_change(worker) ||
         worker->dispatch_first != nullptr || worker->lane.listing.load(std::memory_order_relaxed) || has_strays(worker) ||
         (klt_self()->attention.load(std::memory_order_relaxed) & attention::kDeferred) != 0 ||
         bell_calls(worker);
}

// Also: it is to leave what others may run to them.
bool has_orders_or_is_suspended(Worker* worker) noexcept { return has_orders(worker) || is_suspended(worker); }

bool own_pools_empty(Sched* sched) noexcept { return sched_pools_empty(sched); }

bool lanes_empty(Worker* self) noexcept {
  bool empty = true;
  for_each_other(self, [&](Worker* victim) {
    if (victim->lane.is_listed()) return;  // it is for those whose scheduler has it
    if (victim->lane.has_shared() || victim->lane.has_private()) empty = false;
  });
  return empty;
}

// Opens the lanes of those that do not answer. Of each half, as the owner would: the next time is a whole search away. Not more than takes
// some microseconds, which the owner waits if it comes to Weft meanwhile.
void help_ourselves(Worker* self) noexcept {
  constexpr uint32_t kLeast = 8, kMost = 128;
  for_each_other(self, [&](Worker* victim) {
    if (!victim->lane.has_private()) return;
    Klt* carrier = take_begin(victim);
    if (carrier == nullptr) return;  // in Weft right now: it sees our hunger itself
    victim->lane.publish(self, std::clamp(victim->lane.ring_length() / 2, kLeast, kMost));
    take_retract(victim, carrier);
  });
}

// A worker that would steal is counted while it looks round, so that whoever publishes need not wake
// another one for it. It is one from the start of its search to the end, also when it has been woken.
struct Search {
  Search(Worker* worker, Sched* sched) noexcept
      : worker(worker), sched(sched), thief(sched->steals_lanes) {
    if (!thief) return;
    runtime.hungry.fetch_add(1, std::memory_order_seq_cst);
    runtime.searchers.fetch_add(1, std::memory_order_seq_cst);
  }

  Unit* look() noexcept {
    const bool sent = worker->lane.has_inbox();
    Unit* unit = sched_pick(sched, worker);
    if (unit != nullptr) {
      worker->expects_inbox = sent;
    } else if (thief && ++looks >= next_ask) {
      ask();
    }
    return unit;
  }

  // Asks those for units who keep some to themselves. More and more seldom: what a busy worker writes at each
  // switch is not to be read by others all the time.
  //
  // A single ready unit is most often about to run where it is: whoever has woken it is about to wait. To take it
  // away would cost both more than it gains, unless it stays there for a while. Of several such, one is watched.
  void ask() noexcept {
    constexpr unsigned kPatience = 8, kLongest = 16;  // looks; 16 are about 1 µs
    Single first{};
    bool stays = false;
    for_each_other(worker, [&](Worker* victim) {
      if (!victim->lane.has_private()) return;
      if (victim->lane.has_private_besides_one()) {
        tell_hunger(victim);
        return;
      }
      const Single seen{victim, victim->lane.ring_head.load(std::memory_order_relaxed)};
      if (first.victim == nullptr) first = seen;
      if (seen.victim != single.victim || seen.head != single.head) return;
      stays = true;
      if (interval >= kPatience) tell_hunger(victim);
    });
    if (!stays) single = first;
    interval = std::min(2 * interval, kLongest);
    next_ask = looks + interval;
  }

  // The end of the search. The last searcher has kept others from being woken: it passes that on. And it may have been woken for
  // a pool in whose place it runs something else now.
  Unit* found(Unit* unit) noexcept {
    if (!thief) return unit;
    for (size_t i = 1; unit != nullptr && i < sched->pool_count; ++i) {
      if (sched->pools[i]->size() != 0) wake_for_pool(worker, sched->pools[i]);
    }
    runtime.hungry.fetch_sub(1, std::memory_order_seq_cst);
    const bool last = runtime.searchers.fetch_sub(1, std::memory_order_seq_cst) == 1;
    if (last && runtime.sleepers.load(std::memory_order_seq_cst) > 0 &&
        (worker->lane.has_shared() || !lanes_empty(worker))) {
      wake_sleepers(1);
    }
    return unit;
  }

  Worker* worker;
  Sched* sched;
  bool thief;
  unsigned looks = 0, next_ask = 1, interval = 1;
  struct Single {
    const Worker* victim;
    uint32_t head;  // of its ring: the same as long as the unit is there
  } single{};
};

bool wake_if_asleep(Worker* worker) noexcept {
  if (worker->asleep.load(std::memory_order_seq_cst) == Sleep::kAwake) return false;
  const Sleep old = worker->asleep.exchange(Sleep::kAwake, std::memory_order_seq_cst);
  if (old == Sleep::kAwake) return false;
  runtime.sleepers.fetch_sub(1, std::memory_order_seq_cst);
  if (old == Sleep::kAsleepThief) runtime.searchers.fetch_add(1, std::memory_order_seq_cst);
  worker->park.store(1, std::memory_order_release);
  futex_wake(worker->park, 1);
  return true;
}

bool nobody_awake() noexcept {
  return runtime.sleepers.load(std::memory_order_seq_cst) >=
         static_cast<int>(runtime.active.load(std::memory_order_seq_cst));
}

// The last one to fall asleep looks now and then whether all wait for each other. Both of two that fall asleep
// at once may count as the last; never neither.
struct DeadlockWatch {
  uint64_t pause = kFirstLookNs;
  uint64_t next = nobody_awake() ? now_ns() + pause : kNever;

  void look(uint64_t now) noexcept {
    // Whoever is awake now falls asleep after us, and watches then.
    pause = nobody_awake() ? all_asleep(pause) : 0;
    next = pause != 0 ? now + pause : kNever;
  }
};

// While one lives the worker runs nothing at all: it has looked round for the last time, and has not come back.
class Nap {
 public:
  explicit Nap(Worker* worker) noexcept : word_(worker->nap) {
    // Release, pairs with the acquire in deadlock.cpp: what the worker has done before is seen there.
    word_.store(word_.load(std::memory_order_relaxed) + 1, std::memory_order_release);
  }
  Nap(const Nap&) = delete;
  Nap& operator=(const Nap&) = delete;
  // Relaxed: the states of the units that it goes on to run are stored with release.
  ~Nap() { word_.store(word_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed); }

 private:
  std::atomic<uint64_t>& word_;
};

// False: `until` came first.
bool wait_for_wake_up(Worker* worker, uint64_t until) noexcept {
  count(worker->stats.sleeps);
  const Nap nap(worker);
  DeadlockWatch watch;
  // As long as a burst has left stacks behind, wake now and then to give some of them back.
  bool trim = true;
  bool woken = true;
  Klt* const self = klt_self();
  rest_begin(self);
  // Acquire, pairs with the release of the waker.
  while (worker->park.load(std::memory_order_acquire) == 0) {
    const uint64_t next = std::min(until, watch.next);
    if (!trim && next == kNever) {
      futex_wait(worker->park, 0);
      continue;
    }
    const uint64_t now = now_ns();
    woken = now < until;
    if (!woken) break;
    if (now >= watch.next) {
      rest_end(self);
      watch.look(now);
      rest_begin(self);
    } else if (!trim || next - now <= kTrimPeriodNs) {
      futex_wait_until(worker->park, 0, next);
    } else if (!futex_wait_for(worker->park, 0, kTrimPeriodNs)) {
      rest_end(self);
      worker->stacks.drain_others();
      trim = stack_trim();
      rest_begin(self);
    }
  }
  rest_end(self);
  if (!preempt_off()) preempt_goes_on(self, worker);
  if (!block_off()) block_goes_on(worker);
  return woken;
}

// False: a deadline has come, and the worker still says that it sleeps.
bool sleep_watching(Worker* worker) noexcept {
  const uint64_t until = timers_watch(worker);
  const bool woken = wait_for_wake_up(worker, until);
  if (until != kNever) timers_unwatch(worker);
  return woken;
}

// Step 7. False: somebody is waking us already.
bool retract(Worker* worker, bool thief) noexcept {
  if (worker->asleep.exchange(Sleep::kAwake, std::memory_order_seq_cst) == Sleep::kAwake) {
    // Until that is done, its store could wake the next sleep.
    while (worker->park.load(std::memory_order_acquire) == 0) cpu_pause();
    return false;
  }
  runtime.sleepers.fetch_sub(1, std::memory_order_seq_cst);
  if (thief) runtime.searchers.fetch_add(1, std::memory_order_seq_cst);
  return true;
}

// Steps 1 to 7. A thief is counted as a searcher before and after. False: a deadline has come, and nothing else.
// finds(): step 5, of the worker's own.
template <class F>
bool sleep_until_woken(Worker* worker, bool thief, F&& finds) noexcept {
  worker->park.store(0, std::memory_order_relaxed);
  worker->wait_clock.steady = false;
  if (thief) runtime.searchers.fetch_sub(1, std::memory_order_seq_cst);
  runtime.sleepers.fetch_add(1, std::memory_order_seq_cst);
  worker->asleep.store(thief ? Sleep::kAsleepThief : Sleep::kAsleep, std::memory_order_seq_cst);
  if (thief) {
    bool others = false;
    for_each_other(worker, [&others](Worker* victim) { others |= tell_hunger(victim); });
    if (others) membarrier_all();
  }
  const bool something = finds() || (thief && !lanes_empty(worker));
  if (!something) take_no_signals(klt_self());
  const bool due = !something && !sleep_watching(worker);
  const bool alone = (something || due) && retract(worker, thief);
  // It may have watched, or have been woken to do so: if it goes on to run something, somebody else has to.
  if (timers_pending()) klt_self()->attention.fetch_or(attention::kTimer, std::memory_order_relaxed);
  return !(due && alone);
}

// When an idle worker stops to look round. One that only deadlines wake looks no longer than for the next, if that is
// so near that sleeping would make it late.
uint64_t end_of_spin(const Worker* worker, uint64_t now) noexcept {
  if (runtime.idle_sleeps_at_once.load(std::memory_order_relaxed)) return now;
  const uint64_t end = now + static_cast<uint64_t>(runtime.options.idle_spin_us) * 1000u;
  if (!worker->alarmed) return end;
  const uint64_t next = timers_unwatched();
  return next < end ? next : now;
}

// Not for deadlines, which come when they come.
bool looks_on(Worker* worker, uint64_t* end) noexcept {
  if (!worker->patience.any() || worker->alarmed) return false;
  const uint64_t most = runtime.idle_patience_ns.load(std::memory_order_relaxed);
  const bool on = worker->patience.look_on(&worker->looks_since, most);
  *end = now_ns() + kLookOnNs;
  return on;
}

// True: *unit, or an order for this worker, has come.
bool spin_for(Search& search, Unit** unit) noexcept {
  uint64_t now = now_ns();
  const uint64_t takes_none = now + kStillTakesNs;
  search.worker->looks_since = 0;
  for (uint64_t end = end_of_spin(search.worker, now);; now = now_ns()) {
    if (now >= takes_none) take_no_signals(klt_self());
    rest_if_closed(klt_self());
    timers_poll_all(search.worker, now);
    for (unsigned i = 0; i < kLooksPerClock; ++i) {
      *unit = search.look();
      if (*unit != nullptr || has_orders_or_is_suspended(search.worker)) return true;
      if (now >= end && !looks_on(search.worker, &end)) return false;
      cpu_pause();
    }
  }
}

}  // namespace

void idle_user(Worker* worker, Sched* sched) noexcept {
  uint64_t now = now_ns();
  for (const uint64_t end = end_of_spin(worker, now);; now = now_ns()) {
    rest_if_closed(klt_self());
    timers_poll_all(worker, now);
    if (has_strays(worker)) leave_lane(worker);  // nobody comes to next_unit() here
    if (has_orders(worker) || !own_pools_empty(sched)) return;
    if (now >= end) break;
    cpu_pause();
  }
  worker->alarmed = !sleep_until_woken(worker, false, [&] { return has_orders(worker) || !own_pools_empty(sched); });
  take_signals(klt_self());
}

void idle_suspended(Worker* worker, Sched* sched) noexcept {
  // Whoever was woken for something that is now for others passes that on.
  wake_for_suspended(worker, sched);
  worker->alarmed = !sleep_until_woken(worker, false, [&] {
    return !is_suspended(worker) || has_orders(worker) || suspended_finds(worker, sched);
  });
  take_signals(klt_self());
}

namespace {

// Where the last unit was one that others had sent here, the next one will be too: looks for it for a while before
// it asks round, which would cost everybody, the sender as well, cache misses.
Unit* wait_for_inbox(Worker* worker, Sched* sched) noexcept {
  for (unsigned i = 0; i < kLooksForOthers; ++i) {
    if (worker->lane.has_inbox()) return sched_pick(sched, worker);
    cpu_pause();
  }
  worker->expects_inbox = false;
  return nullptr;
}

}  // namespace

bool would_look_for_inbox(const Worker* worker) noexcept {
  const Unit* unit = klt_current();
  return unit != nullptr && !unit_is(unit, flag::kTasklet | flag::kInPlace | flag::kWatched) && worker->parent == nullptr &&
         !worker->sched->user && worker->sched->kind != WEFT_SCHED_BASIC_WAIT && worker->lane.forks_empty() &&
         own_pools_empty(worker->sched) && !runtime.idle_sleeps_at_once.load(std::memory_order_relaxed);
}

namespace {

Unit* look_and_sleep(Worker* worker, Sched* sched, bool spin) noexcept {
  if (spin && worker->expects_inbox) {
    if (Unit* unit = wait_for_inbox(worker, sched)) return unit;
  }
  Search search(worker, sched);
  bool slept = false;
  for (;;) {
    if (is_suspended(worker)) return search.found(nullptr);
    Unit* unit = nullptr;
    bool found = spin && spin_for(search, &unit);
    if (!found) {
      if (!spin && timers_pending()) timers_poll_all(worker, now_ns());
      if (search.thief) help_ourselves(worker);
      unit = search.look();
      found = unit != nullptr || has_orders_or_is_suspended(worker);
    }
    if (found) {
      if (!slept) worker->alarmed = false;
      return search.found(unit);
    }
    const uint64_t patience = runtime.idle_patience_ns.load(std::memory_order_relaxed);
    const uint64_t since = patience != 0 ? now_ns() : 0;
    worker->alarmed = !sleep_until_woken(worker, search.thief, [&] {
      return has_orders_or_is_suspended(worker) || !own_pools_empty(sched);
    });
    if (patience != 0) {
      const uint64_t now = now_ns();
      worker->patience.slept(worker->alarmed ? kNever : now - since, patience, now);
    }
    slept = true;
  }
}

}  // namespace

Unit* idle_wait(Worker* worker, Sched* sched, bool spin) noexcept {
  Unit* unit = look_and_sleep(worker, sched, spin);
  take_signals(klt_self());
  return unit;
}

void wake_worker(Worker* worker) noexcept { wake_if_asleep(worker); }

void wake_any_sleeper(Worker* self) noexcept {
  bool woken = false;
  for_each_other(self, [&woken](Worker* worker) { woken = woken || wake_if_asleep(worker); });
}

void wake_carried_by(Klt* klt) noexcept {
  for_each_other(nullptr, [klt](Worker* worker) {
    if (worker->carrier.load(std::memory_order_seq_cst) == klt) wake_if_asleep(worker);
  });
  wake_pool_sleeper_on(klt);
}

void wake_sleepers(unsigned units) noexcept {
  if (runtime.sleepers.load(std::memory_order_seq_cst) <= 0) return;
  const int searchers = runtime.searchers.load(std::memory_order_seq_cst);
  if (searchers >= static_cast<int>(units)) return;
  units -= static_cast<unsigned>(searchers > 0 ? searchers : 0);
  const unsigned slots = runtime.worker_slots.load(std::memory_order_acquire);
  for (unsigned i = 0; i < slots && units > 0; ++i) {
    Worker* worker = runtime.workers[i].load(std::memory_order_acquire);
    if (worker == nullptr) continue;
    if (worker->asleep.load(std::memory_order_seq_cst) == Sleep::kAsleepThief &&
        wake_if_asleep(worker)) {
      --units;
    }
  }
}

namespace {

// Any worker whose main scheduler pops this pool; a suspended one only if nobody else does.
void wake_consumer(Pool* pool) noexcept {
  const bool all = runtime.suspended.load(std::memory_order_seq_cst) == 0 || !is_taken_over(pool);
  for (unsigned word = 0; word < kMaxWorkers / 64; ++word) {
    uint64_t bits = pool->consumers[word].load(std::memory_order_relaxed);
    for (; bits != 0; bits &= bits - 1) {
      const unsigned index = word * 64 + static_cast<unsigned>(__builtin_ctzll(bits));
      Worker* worker = runtime.workers[index].load(std::memory_order_acquire);
      if (worker == nullptr || (!all && worker->suspended.load(std::memory_order_seq_cst))) continue;
      if (wake_if_asleep(worker)) return;
    }
  }
}

}  // namespace

// Of a pool that is no lane, its consumers are told here.
static void tell_consumers(const Pool* pool) noexcept {
  // Full fence, pairs with the store in preempt_rest(): it sees the unit, or we see that it is to be told.
  std::atomic_thread_fence(std::memory_order_seq_cst);
  for_each_other(nullptr, [=](Worker* each) {
    if (each->lane.tells.load(std::memory_order_seq_cst) != 0 && may_pop(each, pool)) each->lane.tell();
  });
}

void wake_for_pool(Worker* worker, Pool* pool) noexcept {
  if (!(preempt_off() && block_off()) && pool->lane_owner == nullptr) tell_consumers(pool);
  if (serves_alone(worker, pool)) return;
  // Full fence, pairs with the one of a sleeper: it sees the unit, or we see it.
  std::atomic_thread_fence(std::memory_order_seq_cst);
  if (pool->sleepers.load(std::memory_order_seq_cst) > 0) wake_pool_sleeper(worker, pool);
  if (Worker* owner = pool->lane_owner; owner != nullptr && !owner->lane.is_listed()) {
    if (owner->lane.has_inbox()) wake_worker(owner);
    if (owner->lane.has_shared()) {
      wake_sleepers(1);
      // Its owner, if it is none of them: a suspended one gives it to somebody.
      if (owner->asleep.load(std::memory_order_seq_cst) == Sleep::kAsleep) wake_worker(owner);
    }
    return;
  }
  if (runtime.sleepers.load(std::memory_order_seq_cst) <= 0) return;
  if (pool->builtin) return wake_consumer(pool);
  // A user's pool may give what was pushed into another one.
  for_each_other(nullptr, [](Worker* each) { wake_if_asleep(each); });
}

void wake_to_finish(Worker* worker, Pool* pool) noexcept {
  if (!sched_serves_alone(pool) || may_pop(worker, pool)) return;
  // Full fence, pairs with the one of a sleeper: it sees that the unit runs, or we see it.
  std::atomic_thread_fence(std::memory_order_seq_cst);
  if (pool->sleepers.load(std::memory_order_seq_cst) > 0) wake_pool_sleeper(worker, pool);
  if (runtime.sleepers.load(std::memory_order_seq_cst) <= 0) return;
  const Worker* owner = pool->lane_owner;
  for_each_other(worker, [=](Worker* each) {
    const bool finishes = each->state.load(std::memory_order_seq_cst) == WorkerState::kStopping ||
                          each->new_sched.load(std::memory_order_seq_cst) != nullptr;
    if (finishes && (each == owner || is_consumer(each, pool))) wake_if_asleep(each);
  });
}

bool would_steal(const Worker* worker) noexcept {
  const Sched* sched = worker->sched;
  return !sched->user && sched->steals_lanes && worker->parent == nullptr && !is_suspended(worker);
}

bool others_have_to_spare(Worker* self) noexcept {
  bool some = false;
  for_each_other(self, [&some](const Worker* other) { some = some || other->lane.has_to_spare(); });
  return some;
}

Unit* take_from_others(Worker* worker) noexcept {
  if (!would_steal(worker) || lanes_empty(worker)) return nullptr;
  Sched* sched = worker->sched;
  Search search(worker, sched);
  Unit* unit = sched_steal(sched, worker);
  if (unit == nullptr) {
    help_ourselves(worker);
    unit = sched_steal(sched, worker);
  }
  return search.found(unit);
}

bool anybody_hungry() noexcept { return runtime.hungry.load(std::memory_order_seq_cst) > 0; }

// Whether some thief sleeps, and so cannot ask again.
static bool somebody_waits_to_be_fed() noexcept {
  return anybody_hungry() && runtime.sleepers.load(std::memory_order_seq_cst) > 0;
}

void feed_the_hungry(Worker* worker) noexcept {
  Klt* self = klt_self();
  if (!somebody_waits_to_be_fed()) {
    self->attention.fetch_and(~attention::kHungry, std::memory_order_seq_cst);
    // Full fences on both sides: a sleeper that came between has set the bit, or is seen here.
    if (somebody_waits_to_be_fed()) self->attention.fetch_or(attention::kHungry, std::memory_order_seq_cst);
  }
  const int hungry = runtime.hungry.load(std::memory_order_relaxed);
  if (hungry <= 0) return;
  Lane* lane = &worker->lane;
  if (!lane->has_private()) return;
  if (lane->shared_count.load(std::memory_order_relaxed) >= static_cast<uint32_t>(hungry)) return;
  const uint32_t ready = lane->ring_tail.load(std::memory_order_relaxed) -
                         lane->ring_head.load(std::memory_order_relaxed);
  const auto wanted = std::max(ready / 2 + 1, static_cast<uint32_t>(hungry));
  const unsigned done = lane->publish(worker, wanted);
  if (done > 0) wake_sleepers(done);
}

}  // namespace weft::rt
