// scout.cpp: the thread that looks after a worker's carrier.
//
// It is bound to the worker's core. As long as hardly anybody blocks while others wait it looks round now and then. After
// that it has the policy SCHED_IDLE, so the kernel runs it when it has nothing better for that core: when the carrier
// sleeps. It is no KLT, takes no lock and changes nothing but its own words: it may be preempted anywhere, for as long as
// others have a use for the core.
#include <pthread.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>

#include "base/spin_lock.hpp"
#include "block/block.hpp"
#include "block/watch.hpp"
#include "inspect/dump.hpp"
#include "klt/process_gate.hpp"
#include "klt/time_slice.hpp"
#include "os/clock.hpp"
#include "os/kernel_tid.hpp"
#include "os/membarrier.hpp"
#include "os/scheduling.hpp"
#include "os/service_thread.hpp"
#include "os/topology.hpp"
#include "worker/runtime.hpp"
#include "worker/spare_maker.hpp"
#include "worker/timers.hpp"
#include "worker/worker.hpp"

namespace weft::rt {
namespace {

// Looks at which nothing has changed, one after the other: the carrier runs on another core, or cannot be taken just now.
constexpr unsigned kPatience = 16;
constexpr uint64_t kNapNs = 100'000, kLongestNapNs = 1'600'000;
// Beside others, and a carrier that computes: no more than 160 looks a second.
constexpr uint64_t kLongestNapInCompanyNs = 6'400'000;
// Whoever makes spares would have made one, if it could.
constexpr uint64_t kAloneNs = 10'000'000;
// Between two looks: somebody else has had the core.
constexpr uint64_t kAwayNs = 50'000;
// For so long that it is told who.
constexpr uint64_t kLongAwayNs = 1'000'000;
// From one look at a carrier that computes to the next, on average: at times the kernel gives an idle thread its turn at each tick.
constexpr uint64_t kBetweenNs = 6'500'000;
// From one look to the next, as long as hardly anybody blocks: no more workers than these are taken in such a time.
constexpr uint64_t kFirstCalmNapNs = 1'000'000, kLongestCalmNapNs = 16'000'000;
constexpr uint32_t kMostTaken = 3;
constexpr uint64_t kMostTakenInNs = 10'000'000'000;

constexpr int kNoCpu = -2;
constexpr int kOnlyStarting = -1;  // in the place of its tid

// Workers whose records have had a scout: those stay until the end, and what has been freed is made again from them.
constinit std::atomic<Worker*> first{nullptr};
constinit SpinLock listing;

void list(Worker* worker) noexcept {
  listing.lock();
  if (!worker->post.listed) {
    worker->post.next = first.load(std::memory_order_relaxed);
    first.store(worker, std::memory_order_release);
    worker->post.listed = true;  // last: see scouts_forget_threads()
  }
  listing.unlock();
}

// The next one is read first: it may be forgotten.
template <class F>
void for_each_post(F&& f) noexcept {
  for (Worker* worker = first.load(std::memory_order_acquire); worker != nullptr;) {
    Worker* next = worker->post.next;
    f(worker);
    worker = next;
  }
}

constinit SpinLock starting_and_ending;
constinit pid_t started_by = 0;          // the process; under that lock

constinit std::atomic<bool> told{false};
// Units block often, or are to be seen at once from the first one on. Any thread; so are the next two, which nobody needs exactly.
constinit std::atomic<bool> alert{false};
constinit std::atomic<uint64_t> taken_since{0};
constinit std::atomic<uint32_t> taken_lately{0};

// When a worker was last taken from one that keeps its ticks out; 0: not lately. Such threads may be many, and keep the cores busy: scouts,
// who go behind them all, would see the next one seconds later. So the thread that makes spares looks for a while.
constinit std::atomic<uint64_t> deaf_at{0};
constexpr uint64_t kDeafLatelyNs = 100'000'000;

struct Scout {
  Worker* worker;
  bool idle = false;     // its policy
  uint64_t calm_nap = kFirstCalmNapNs;  // the next one, before that
  int cpu = kNoCpu;
  const Klt* klt = nullptr;  // at which it looked last
  uint64_t stamp = 0;    // what it saw
  unsigned same = 0;     // looks at which it was that, and nobody else ran here
  uint64_t seen = 0;     // when it last looked, or woke
  uint64_t alone = 0, alone_last = 0;  // since when there has been no spare for what it saw, and when it saw that last
  uint64_t nap = kNapNs;  // the next one
  uint64_t ready = 0;    // since when it has had a use for the core; 0: not known
  uint64_t ran = 0;      // the CPU time of that KLT at the last look; 0: not known
  uint64_t changes = 0;  // of the worker's KLT by then
  bool in_company = false;  // others than the carrier, as far as one knows
  bool guessed = false;     // that, beside a carrier that did not sleep
  uint64_t nap_in_company = kNapNs;  // the next one, in that case
  bool looks_again = false;          // at once
  uint64_t pause = 0;                // after a look too soon, at a carrier that has been interrupted for it
};

// As any thread, but whoever runs as it wakes goes on.
void make_calm() noexcept {
  const sched_param none{};
  sched_setscheduler(0, SCHED_BATCH, &none);
}

// The policy needs no privilege; the way back does, or RLIMIT_NICE. With the shortest slice it waits 70 ms for its turn beside two busy threads
// instead of a second.
void make_idle() noexcept {
  have_short_slice();
  const sched_param none{};
  sched_setscheduler(0, SCHED_IDLE, &none);
}

void follow(Scout& scout) noexcept {
  const int cpu = scout.worker->cpu.load(std::memory_order_relaxed);
  if (cpu == scout.cpu) return;
  scout.cpu = cpu;
  const int tid = scout.worker->post.tid.load(std::memory_order_relaxed);
  if (cpu >= 0) {
    static_cast<void>(bind_thread(cpu, tid));
  } else if (runtime.affinity_known) {
    static_cast<void>(set_affinity(runtime.affinity, tid));
  }
}

// Somebody has to carry the worker on. False: there is no spare just now.
bool call_heir(Worker* worker) noexcept {
  BlockPost& post = worker->post;
  if (!heir_choose(worker)) {
    spare_maker_call();
    return false;
  }
  post.call.fetch_add(1, std::memory_order_release);
  futex_wake_all(post.call);
  return true;
}

// Not: it sleeps for want of work, or runs no units yet, or no more, and tells us when it goes on.
bool is_awake(const Worker* worker) noexcept {
  return worker->carrier.load(std::memory_order_acquire) != nullptr &&
         worker->state.load(std::memory_order_relaxed) == WorkerState::kActive &&
         worker->asleep.load(std::memory_order_seq_cst) == Sleep::kAwake;
}

// Who has had the core since the scout had a use for it? One that idles is the scout's at once. If the worker has changed its KLT since
// the last look, nobody knows. One that sleeps is about to be replaced, so a nap costs nothing; beside one that does not
// there is one nap, after which it may be the same still. Not more: ticks may change the KLTs of a worker all the time, with nobody
// else there, and who sleeps misses the block.
void note_company(Scout& scout, const Klt* klt, bool asleep, uint64_t now) noexcept {
  const uint64_t away = scout.ready != 0 && now > scout.ready ? now - scout.ready : 0;
  const uint64_t changes = scout.worker->stats.handovers.load(std::memory_order_relaxed);
  const uint64_t before = klt == scout.klt && changes == scout.changes ? scout.ran : 0;
  scout.changes = changes;
  const bool guesses = scout.guessed;
  // Who computes is asked at each look, which are few: what he had of the core until the next one is known then.
  scout.ran = away >= kLongAwayNs || !asleep ? cpu_ns_of(klt->tid.load(std::memory_order_relaxed)) : 0;
  scout.in_company = scout.guessed = false;
  if (away >= kLongAwayNs) {
    scout.in_company = before != 0 ? scout.ran < before + away - away / 8 : asleep || !guesses;
    scout.guessed = before == 0 && !asleep;
  }
}

// The carrier sleeps, or keeps its ticks out.
void see_to_it(Scout& scout, const Klt* klt, const Sight& sight, bool same) noexcept {
  Worker* worker = scout.worker;
  // In Weft, or in the code of a scheduler or a pool of the user's, from which nobody takes a worker.
  if (klt->guard.load(std::memory_order_acquire) != kGuardDown) return;
  if (klt->current.load(std::memory_order_relaxed) == nullptr) return;
  if (sight.asleep) count_block(worker, klt, sight);
  if (call_heir(worker)) {
    scout.alone = 0;
    return;
  }
  // Ticks may wake it now and then, and not switch it.
  if (scout.alone == 0 || !same || scout.seen - scout.alone_last > 2 * kAloneNs) scout.alone = scout.seen;
  scout.alone_last = scout.seen;
  if (scout.seen - scout.alone >= kAloneNs) heir_is_captive(worker);
}

// The carrier computes, and more than one unit waits for it: a worker could help that stands still since its ULT blocks, and for which
// nobody waited as it did.
void call_others(const Worker* worker) noexcept {
  if (!worker->lane.has_to_spare()) return;
  for_each_post([worker](Worker* other) {
    BlockPost& post = other->post;
    if (other == worker || post.state.load(std::memory_order_relaxed) != kPostRests) return;
    if (post.would_steal.load(std::memory_order_relaxed) && is_awake(other) && !carrier_runs(other)) scout_look(other);
  });
}

// False: there is nothing to look at.
bool look(Scout& scout) noexcept {
  Worker* worker = scout.worker;
  if (!is_awake(worker)) return false;
  const Klt* klt = worker->carrier.load(std::memory_order_acquire);
  if (klt == nullptr) return false;
  block_counts.looks.fetch_add(1, std::memory_order_relaxed);
  const Sight sight = watch_look(klt);
  const uint64_t now = now_ns();
  const bool unchanged = klt == scout.klt && sight.stamp == scout.stamp;
  const uint64_t since = now - scout.seen;
  scout.pause = !sight.asleep && since >= kLongAwayNs && since < kBetweenNs ? 2 * kBetweenNs - since : 0;
  scout.same = unchanged && since < kAwayNs ? scout.same + 1 : 0;
  scout.stamp = sight.stamp;
  scout.seen = now;
  if (!sight.asleep || scout.same == 0) scout.nap = kNapNs;
  note_company(scout, klt, sight.asleep, now);
  const bool same = klt == scout.klt;
  scout.klt = klt;
  if (sight.asleep || preempt_cannot_come(worker, klt, now)) {
    scout.nap_in_company = kNapNs;
    scout.calm_nap = kFirstCalmNapNs;
    see_to_it(scout, klt, sight, same);
  } else {
    call_others(worker);
  }
  return true;
}

// Somebody has gone beyond the bound. Here, because a scout is in nobody's way for as long as it takes.
void tell_if_beyond() noexcept {
  if (block_counts.beyond.load(std::memory_order_relaxed) == 0 || told.exchange(true, std::memory_order_relaxed)) return;
  char sentence[320];
  std::snprintf(sentence, sizeof sentence,
                "%u ULTs have blocked in the kernel, as many as WEFT_BLOCKING_KLTS lets, and no worker got on, or one stood "
                "still for 10 ms: so one more may, each time. They and who waits for them:",
                block_settings.klts.load(std::memory_order_relaxed));
  static_cast<void>(dump_waiting(STDERR_FILENO, sentence));
}

// False: there is nothing to look at. It rests.
bool looks_on(Scout& scout) noexcept {
  tell_if_beyond();
  follow(scout);
  if (look(scout)) return true;
  scout_rest(scout.worker);
  // It has gone on before it could see that we rest; what waits for it may lie in any pool, and nobody tells us of that.
  if (is_awake(scout.worker)) scout_look(scout.worker);
  return false;
}

// As long as hardly anybody blocks.
void look_round(Scout& scout) noexcept {
  if (!looks_on(scout)) return;
  scout.ready = 0;
  futex_wait_for(scout.worker->post.state, kPostLooks, scout.calm_nap);
  scout.calm_nap = std::min(2 * scout.calm_nap, kLongestCalmNapNs);
}

void watch_over(Scout& scout) noexcept {
  BlockPost& post = scout.worker->post;
  if (!looks_on(scout)) return;
  // It has lost the core since, to the heir that it has woken most of all, and has it back as the next carrier blocks. Not twice: then
  // a look takes that long.
  scout.looks_again = !scout.looks_again && now_ns() - scout.seen >= kAwayNs;
  if (scout.looks_again) {
    scout.ready = scout.seen;
  } else if (scout.in_company) {
    const uint64_t nap = scout.guessed ? kNapNs : scout.nap_in_company;
    futex_wait_for(post.state, kPostLooks, nap);
    scout.ready = scout.seen + nap;
    // Until the carrier sleeps: those who have little of the core are not seen at each look.
    if (!scout.guessed) scout.nap_in_company = std::min(2 * nap, kLongestNapInCompanyNs);
  } else if (scout.pause != 0) {
    futex_wait_for(post.state, kPostLooks, scout.pause);
    scout.ready = scout.seen + scout.pause;
  } else if (scout.same < kPatience) {
    scout.ready = scout.seen;
    sched_yield();
  } else {
    const uint64_t until = scout.seen + scout.nap;
    futex_wait_for(post.state, kPostLooks, scout.nap);
    scout.same = kPatience - 1;
    // If it has waited for the core then, somebody has had it.
    const uint64_t now = now_ns();
    scout.seen = scout.ready = now < until + kLongAwayNs ? now : until;
    if (scout.stamp != 0) scout.nap = std::min(2 * scout.nap, kLongestNapNs);
  }
}

// Until a unit comes, or a deadline of those whose worker it is: nobody else may be awake to see that.
void rest(Scout& scout) noexcept {
  BlockPost& post = scout.worker->post;
  scout.ready = 0;
  const uint64_t deadline = timers_earliest_of(post.index.load(std::memory_order_relaxed));
  if (deadline == kNever) return futex_wait(post.state, kPostRests);
  futex_wait_until(post.state, kPostRests, deadline);
  uint32_t rests = kPostRests;
  if (now_ns() >= deadline) post.state.compare_exchange_strong(rests, kPostLooks, std::memory_order_relaxed);
}

void* scout_main(void* arg) noexcept {
  Scout scout{static_cast<Worker*>(arg)};
  BlockPost& post = scout.worker->post;
  post.tid.store(kernel_tid(), std::memory_order_relaxed);
  make_calm();
  for (;;) {
    if (!scout.idle && alert.load(std::memory_order_relaxed)) {
      make_idle();
      scout.idle = true;
    }
    switch (post.state.load(std::memory_order_acquire)) {
      case kPostEnds: tell_if_beyond(); return nullptr;
      case kPostRests: rest(scout); break;
      default: scout.idle ? watch_over(scout) : look_round(scout);
    }
  }
}

// Stamps of two KLTs may be the same. 0: the rung knows of no stamps.
uint64_t block_of(const Klt* carrier, const Sight& sight) noexcept {
  return sight.stamp == 0 ? 0 : sight.stamp ^ reinterpret_cast<uintptr_t>(carrier);
}

}  // namespace

void count_block(Worker* worker, const Klt* carrier, const Sight& sight) noexcept {
  const uint64_t block = block_of(carrier, sight);
  if (worker->post.counted.exchange(block, std::memory_order_relaxed) == block && block != 0) return;
  worker->post.counted_at.store(now_ns(), std::memory_order_relaxed);
  block_counts.blocks.fetch_add(1, std::memory_order_relaxed);
}

void scouts_be_calm() noexcept {
  taken_since.store(0, std::memory_order_relaxed);
  taken_lately.store(0, std::memory_order_relaxed);
  alert.store(false, std::memory_order_relaxed);
}

void scouts_be_alert() noexcept {
  if (alert.exchange(true, std::memory_order_relaxed)) return;
  for_each_post([](Worker* worker) { futex_wake(worker->post.state, 1); });
}

namespace {

void note_taken() noexcept {
  if (alert.load(std::memory_order_relaxed)) return;
  const uint64_t now = now_ns();
  if (now - taken_since.load(std::memory_order_relaxed) > kMostTakenInNs) {
    taken_since.store(now, std::memory_order_relaxed);
    taken_lately.store(0, std::memory_order_relaxed);
  }
  if (taken_lately.fetch_add(1, std::memory_order_relaxed) >= kMostTaken) scouts_be_alert();
}

}  // namespace

void count_taken(Worker* worker, const Klt* carrier, const Sight& sight) noexcept {
  note_taken();
  block_counts.taken.fetch_add(1, std::memory_order_relaxed);
  uint64_t block = block_of(carrier, sight);
  worker->post.counted.compare_exchange_strong(block, 0, std::memory_order_relaxed);
}

void note_deaf() noexcept {
  if (deaf_at.exchange(now_ns(), std::memory_order_relaxed) == 0) spare_maker_look();
}

bool block_look_for_deaf() noexcept {
  const uint64_t at = deaf_at.load(std::memory_order_relaxed);
  if (at == 0) return false;
  const uint64_t now = now_ns();
  if (now > at + kDeafLatelyNs) {
    deaf_at.store(0, std::memory_order_relaxed);  // a scout sees the next one
    return false;
  }
  gate_enter();
  for_each_post([now](Worker* worker) {
    if (worker->post.state.load(std::memory_order_acquire) == kPostEnds) return;
    const Klt* klt = is_awake(worker) ? worker->carrier.load(std::memory_order_acquire) : nullptr;
    if (klt == nullptr || klt->guard.load(std::memory_order_acquire) != kGuardDown) return;
    if (preempt_cannot_come(worker, klt, now)) call_heir(worker);
  });
  gate_leave();
  return true;
}

void scout_look(Worker* worker) noexcept {
  FutexWord& state = worker->post.state;
  uint32_t rests = kPostRests;
  if (state.compare_exchange_strong(rests, kPostLooks, std::memory_order_seq_cst)) futex_wake(state, 1);
}

void scout_rest(Worker* worker) noexcept {
  uint32_t looks = kPostLooks;
  worker->post.state.compare_exchange_strong(looks, kPostRests, std::memory_order_seq_cst);
  worker->lane.tells.fetch_or(tell_to::kBlock, std::memory_order_seq_cst);
  // The owner pushes with plain stores: either it sees that it is to tell, or we see the unit.
  membarrier_all();
  const bool asleep = worker->asleep.load(std::memory_order_seq_cst) != Sleep::kAwake;
  if (!asleep && worker->lane.has_unit()) scout_look(worker);
}

bool scout_start(Worker* worker) noexcept {
  BlockPost& post = worker->post;
  if (post.started.load(std::memory_order_relaxed)) return true;
  list(worker);
  post.state.store(kPostLooks, std::memory_order_relaxed);
  started_by = getpid();
  post.tid.store(kOnlyStarting, std::memory_order_relaxed);
  const bool started = service_thread_start(post.thread, scout_main, worker) == 0;
  if (!started) post.tid.store(0, std::memory_order_relaxed);
  // Release, pairs with the acquire of a worker that starts: its scout can be told to look.
  post.started.store(started, std::memory_order_release);
  return started;
}

namespace {

// It is waited for, and may have to wait itself for a core that others keep busy: by its old policy again, if we may, and
// wherever there is room.
void let_it_end(int tid) noexcept {
  if (tid <= 0) return;
  const sched_param none{};
  static_cast<void>(sched_setscheduler(tid, SCHED_OTHER, &none));
  if (runtime.affinity_known) static_cast<void>(set_affinity(runtime.affinity, tid));
}

bool is_ending(const BlockPost& post) noexcept {
  return post.started.load(std::memory_order_relaxed) && post.state.load(std::memory_order_relaxed) == kPostEnds;
}

// Of one whose thread is no more.
void dismiss(Worker* worker) noexcept {
  BlockPost& post = worker->post;
  post.started.store(false, std::memory_order_seq_cst);  // see block_worker_starts()
  post.tid.store(0, std::memory_order_relaxed);
  worker->lane.tells.fetch_and(~tell_to::kBlock, std::memory_order_relaxed);
  gate_enter();
  heir_dismiss(worker);
  gate_leave();
}

// The thread that ends last gives the process's memory back, by its own policy. That is not to be one of these: on a core that others
// keep busy it would take minutes for what takes a tenth of a second. Nobody's blocking is noticed from here on. Not by a child of
// _Fork() or of the bare system call, to whom nobody has said that they are its parent's.
[[gnu::destructor]] void end_before_the_process() noexcept {
  if (!scouts_try_lock()) return;  // somebody is at them, and the process ends meanwhile
  if (getpid() == started_by) {
    scouts_end();
    for_each_post([](Worker* worker) {
      if (is_ending(worker->post)) pthread_join(worker->post.thread, nullptr);
      worker->post.started.store(false, std::memory_order_relaxed);
    });
  }
  scouts_unlock();
}

}  // namespace

void scouts_lock() noexcept { starting_and_ending.lock(); }
bool scouts_try_lock() noexcept { return starting_and_ending.try_lock(); }
void scouts_unlock() noexcept { starting_and_ending.unlock(); }

void scouts_end() noexcept {
  for_each_post([](Worker* worker) {
    BlockPost& post = worker->post;
    if (!post.started.load(std::memory_order_relaxed) || is_ending(post)) return;
    let_it_end(post.tid.load(std::memory_order_relaxed));  // first: then it lives still, and the number is its own
    post.state.store(kPostEnds, std::memory_order_seq_cst);
    futex_wake(post.state, 1);
  });
}

bool scouts_have_ended() noexcept {
  bool all = true;
  for_each_post([&all](Worker* worker) {
    if (!is_ending(worker->post)) return;
    if (pthread_tryjoin_np(worker->post.thread, nullptr) == 0) {
      dismiss(worker);
    } else {
      all = false;
    }
  });
  return all;
}

void scouts_stop() noexcept {
  scouts_end();
  for_each_post([](Worker* worker) {
    if (!is_ending(worker->post)) return;
    pthread_join(worker->post.thread, nullptr);
    dismiss(worker);
  });
}

void scouts_forget_workers() noexcept {
  for_each_post([](Worker* worker) { worker->post.listed = false; });
  first.store(nullptr, std::memory_order_relaxed);
}

void scouts_forget_threads() noexcept {
  told.store(false, std::memory_order_relaxed);
  starting_and_ending.unlock();
  listing.unlock();  // the maker of spares may have been just there: no fork() waits for it
  for_each_post([](Worker* worker) {
    BlockPost& post = worker->post;
    post.listed = true;
    post.started.store(false, std::memory_order_relaxed);
    post.tid.store(0, std::memory_order_relaxed);
    post.heir.store(nullptr, std::memory_order_relaxed);
    post.state.store(kPostEnds, std::memory_order_relaxed);
  });
}

bool is_scout(int tid) noexcept {
  bool is = false;
  for_each_post([&](const Worker* worker) { is = is || worker->post.tid.load(std::memory_order_relaxed) == tid; });
  return is;
}

bool scouts_are_starting() noexcept { return is_scout(kOnlyStarting); }

}  // namespace weft::rt
