// spare_maker.cpp: see spare_maker.hpp.
//
// A handler makes none. And a ULT may be captured inside malloc, or its worker be taken there: a worker that made its next
// KLT itself could then wait for a lock that only that ULT gives back, when its turn comes on this very worker. This
// thread carries no worker, and waits for nobody else.
#include "worker/spare_maker.hpp"

#include <errno.h>
#include <pthread.h>
#include <unistd.h>

#include <algorithm>

#include "identity/identity.hpp"
#include "identity/keeper.hpp"
#include "klt/kernel_sleep.hpp"
#include "klt/process_gate.hpp"
#include "klt/time_slice.hpp"
#include "os/futex.hpp"
#include "os/kernel_tid.hpp"
#include "os/service_thread.hpp"
#include "worker/pool_sleep.hpp"
#include "worker/runtime.hpp"

namespace weft::rt {
namespace {

constexpr uint64_t kKeepNs = 1'000'000'000, kLookForDeafNs = 2'000'000, kScoutsEndNs = 1'000'000;
// Whoever has become one stays for a while: where ULTs are preempted each needs its own, and the next ones will too.
constexpr unsigned kMostSpares = 64;

enum Wish : uint32_t { kNothing, kMore, kLook, kEnd };

constinit FutexWord wish{kNothing};
constinit FutexWord rounds{0};
constinit std::atomic<uint32_t> refusals{0};
constinit bool started = false;  // under the lock of whoever starts and stops the runtime
pthread_t maker;
std::atomic<int> maker_tid{0};

// One for each worker that may be about to hand over, and for main's.
unsigned spares_wanted() noexcept {
  const auto kept = static_cast<unsigned>(runtime.options.klt_spare);
  return std::max(kept, runtime.active.load(std::memory_order_relaxed) + 1);
}

// Those that have forked stay besides.
bool too_many_spares() noexcept { return klt_spares() > spares_wanted() + klts_that_have_forked(); }

// Release, pairs with the acquire of whoever waits: the spare is in the list, a refusal is counted.
void tell_round() noexcept {
  rounds.fetch_add(1, std::memory_order_release);
  futex_wake_all(rounds);
}

void make_spares() noexcept {
  const unsigned wanted = spares_wanted();
  bool refused = false;
  klt_set_spare_limit(kMostSpares);
  outside_of_forks([&] {
    while (!refused && klt_spares() + klt_spares_coming() < wanted) refused = !klt_start_spare(tell_round);
  });
  if (refused) refusals.fetch_add(1, std::memory_order_relaxed);  // whoever needs one asks again
  // Where all are only coming each tells by itself: whoever waits would but ask again, and again.
  if (refused || klt_spares() != 0) tell_round();
}

// Those that nobody has needed for a while.
void end_surplus() noexcept {
  gate_enter();
  if (too_many_spares()) static_cast<void>(klt_end_spare());
  gate_leave();
}

void* maker_main(void*) noexcept {
  const int tid = kernel_tid();
  maker_tid.store(tid, std::memory_order_relaxed);
  // Not where the worker is bound whose KLT has started this thread, and spins.
  if (runtime.affinity_known) static_cast<void>(set_affinity(runtime.affinity, tid));
  for (;;) {
    // Sequentially consistent: see ask().
    const uint32_t now = wish.exchange(kNothing, std::memory_order_seq_cst);
    wake_left_by_handlers();
    if (now == kEnd) return nullptr;
    if (now == kMore) make_spares();
    if (identity_waits() && !keeper_start()) identity_refused(EAGAIN);
    preempt_look_for_stuck();
    outside_of_forks(preempt_start_metronome);
    if (block_see_to_scouts()) {
      futex_wait_for(wish, kNothing, kScoutsEndNs);
    } else if (block_look_for_deaf()) {
      futex_wait_for(wish, kNothing, kLookForDeafNs);
    } else if (!too_many_spares()) {
      futex_wait(wish, kNothing);
    } else if (!futex_wait_for(wish, kNothing, kKeepNs)) {
      end_surplus();
    }
  }
}

void say(Wish what) noexcept {
  wish.store(what, std::memory_order_release);
  futex_wake(wish, 1);
}

// By those who will ask again, or have left something where the maker looks each time that it wakes.
void ask(Wish what) noexcept {
  uint32_t nothing = kNothing;
  // Sequentially consistent: it has to end, or has something to do already: let it. What was left before it will see.
  if (wish.compare_exchange_strong(nothing, what, std::memory_order_seq_cst)) futex_wake(wish, 1);
}

}  // namespace

void spare_maker_call() noexcept { ask(kMore); }

uint32_t spare_maker_refusals() noexcept { return refusals.load(std::memory_order_relaxed); }

uint32_t spare_maker_rounds() noexcept { return rounds.load(std::memory_order_acquire); }

void spare_maker_wait(uint32_t seen, uint64_t ns) noexcept { futex_wait_for(rounds, seen, ns); }

void spare_maker_pause(uint32_t seen) noexcept {
  constexpr uint64_t kPauseNs = 50'000;
  if (weft_sleep(kPauseNs) != WEFT_OK) spare_maker_wait(seen, kPauseNs);  // a tasklet's, say
}

Klt* spare_for_new_worker() noexcept {
  if (spare_maker_tid() == 0) return nullptr;
  const uint32_t refused = spare_maker_refusals();
  while (spare_maker_refusals() == refused) {
    const uint32_t round = spare_maker_rounds();
    if (Klt* klt = klt_try_acquire(-1)) return klt;
    spare_maker_call();
    spare_maker_pause(round);
  }
  return nullptr;
}

void spare_maker_look() noexcept { ask(kLook); }

bool spare_maker_start() noexcept {
  if (started) return true;
  wish.store(kMore, std::memory_order_relaxed);
  started = service_thread_start(maker, maker_main, nullptr) == 0;
  return started;
}

bool spare_maker_is_there() noexcept { return started; }

bool spare_maker_is_starting() noexcept { return started && spare_maker_tid() == 0; }

int spare_maker_tid() noexcept { return maker_tid.load(std::memory_order_relaxed); }

bool is_spare_maker(int tid) noexcept { return spare_maker_tid() == tid; }

void spare_maker_stop() noexcept {
  if (!started) return;
  say(kEnd);
  pthread_join(maker, nullptr);
  spare_maker_forget();
}

void spare_maker_forget() noexcept {
  maker_tid.store(0, std::memory_order_relaxed);
  started = false;
}

}  // namespace weft::rt
