#include "crowd.hpp"

#include <algorithm>

#include "icv.hpp"
#include "keep.hpp"
#include "os/clock.hpp"
#include "os/proc_file.hpp"
#include "runtime.hpp"
#include "wait.hpp"
#include "weft/preempt.h"
#include "weft/weft.h"

namespace weft::omp {

namespace {

constinit Crowd crowd;
constinit Parting parting;
std::atomic<bool> is_one{false};
std::atomic<uint64_t> used_cpu{0}, used_at{0};  // of the process, when the last window ended
std::atomic<uint64_t> idle_before{0};           // of the machine, then
std::atomic<unsigned long> cpus_of_machine{0};  // 0: not asked yet

// Of two who change it at once the last one to look has the workers do what is true.
void change_to(bool now) {
  if (__builtin_expect(is_one.load(std::memory_order_relaxed) == now, 1)) return;
  is_one.store(now, std::memory_order_seq_cst);
  bool done;
  do {
    done = is_one.load(std::memory_order_seq_cst);
    workers_look_on(!done);
    std::atomic_thread_fence(std::memory_order_seq_cst);
  } while (is_one.load(std::memory_order_seq_cst) != done);
}

bool all_cpus_are_ours() {
  unsigned long all = cpus_of_machine.load(std::memory_order_relaxed);
  if (all == 0) cpus_of_machine.store(all = rt::online_cpus(), std::memory_order_relaxed);
  return static_cast<unsigned long>(device().share) == all;
}

// Since it was called last: of the CPUs that are ours, by whomever. Of some of the machine's only what we use ourselves is known.
unsigned busy_of_1000(uint64_t now_ns) {
  constexpr uint64_t kHundredth = 10'000'000;
  const uint64_t cpu = rt::clock_read(CLOCK_PROCESS_CPUTIME_ID);
  const uint64_t used = cpu - used_cpu.exchange(cpu, std::memory_order_relaxed);
  const uint64_t time = now_ns - used_at.exchange(now_ns, std::memory_order_relaxed);
  const uint64_t had = std::max<uint64_t>(time * static_cast<uint64_t>(device().share), 1);
  const auto by_us = static_cast<unsigned>(used * 1000 / had);
  if (!all_cpus_are_ours()) return by_us;
  const uint64_t now_idle = rt::idle_of_machine();
  const uint64_t idle = (now_idle - idle_before.exchange(now_idle, std::memory_order_relaxed)) * kHundredth;
  const auto by_all = static_cast<unsigned>(1000 - std::min(idle, had) * 1000 / had);
  return now_idle != 0 ? std::max(by_us, by_all) : by_us;
}

// Several members may come to one worker, and each may spin for another one.
bool spinners_leave() {
  weft_preemption_info_t preemption;
  return weft_preemption_info(&preemption) == WEFT_OK && preemption.mode != WEFT_PREEMPTION_OFF &&
         preemption.standard != WEFT_PREEMPTION_NONE;
}

// Where places bind, they do.
void take_part(Thread& root) {
  const uint64_t now = parting.now();
  if (__builtin_expect(root.parting == now, 1)) return;
  root.parting = now;
  const weft_worker_t worker = root.unit != nullptr ? weft_worker_self() : nullptr;
  const bool may = workers_stay() && !places_bind() && spinners_leave();
  const auto workers = static_cast<int>(weft_workers_active());
  root.part = may ? parting.part_of_root(now, worker != nullptr ? weft_worker_index(worker) : -1, workers) : Part{};
}

}  // namespace

bool Crowd::begins(uint64_t& window, int n, int most, uint64_t now_ns, Ended& ended) noexcept {
  const uint64_t now = now_ns / kWindowNs;
  if (window != now) {
    window = now;
    uint64_t last = window_.load(std::memory_order_relaxed);
    if (last != now && window_.compare_exchange_strong(last, now, std::memory_order_relaxed)) {
      const bool follows = now == last + 1;
      const int had = follows ? threads_.load(std::memory_order_relaxed) : 0;
      ended = {.just_now = true, .threads = had, .roots = roots_.load(std::memory_order_relaxed)};
      before_.store(had, std::memory_order_relaxed);
      roots_.store(1, std::memory_order_relaxed);
      threads_.store(n, std::memory_order_release);  // who does not see those of the last window any more sees them as `before_`
    } else {
      roots_.fetch_add(1, std::memory_order_relaxed);
      threads_.fetch_add(n, std::memory_order_relaxed);
    }
  }
  const int threads = threads_.load(std::memory_order_acquire);
  return std::max(threads, before_.load(std::memory_order_relaxed)) > most;
}

void Parting::begin(int roots) noexcept {
  const uint64_t changes = now_.load(std::memory_order_relaxed) >> kRootBits;
  const int most = (1 << kRootBits) - 1;
  kept_.store(0, std::memory_order_relaxed);
  taken_.store(0, std::memory_order_relaxed);
  now_.store((changes + 1) << kRootBits | static_cast<uint64_t>(std::min(roots, most)), std::memory_order_relaxed);
}

void Parting::window_ends(bool is_crowd, int roots, unsigned busy) noexcept {
  const int parts = roots_of(now());
  if (!is_crowd) {
    if (parts != 0) begin(0);
  } else if (parts == 0) {
    const unsigned pause = pause_.load(std::memory_order_relaxed);
    if (busy < kBusy || roots < 2) return;
    if (pause == 0) return begin(roots);
    pause_.store(pause - 1, std::memory_order_relaxed);
  } else if (busy < kBusy) {
    begin(0);
    const unsigned pause = next_pause_.load(std::memory_order_relaxed);
    pause_.store(pause, std::memory_order_relaxed);
    next_pause_.store(std::min(2 * pause, kLongestPause), std::memory_order_relaxed);
  } else {
    const unsigned kept = kept_.load(std::memory_order_relaxed) + 1;
    kept_.store(kept, std::memory_order_relaxed);
    if (kept >= kPays) next_pause_.store(kFirstPause, std::memory_order_relaxed);
    if (roots > parts) begin(roots);
  }
}

// Those of workers' ULTs are where these are; kernel threads' are taken from the other end.
Part Parting::part_of_root(uint64_t now, int worker, int workers) noexcept {
  const int roots = roots_of(now);
  if (roots < 2 || workers < 2) return {};
  const int count = std::max(workers / roots, 1);
  const int parts = workers / count;
  int which = std::min(worker / count, parts - 1);
  if (worker < 0) {
    const unsigned taken = taken_.fetch_add(1, std::memory_order_relaxed);
    which = parts - 1 - static_cast<int>(taken % static_cast<unsigned>(parts));
  }
  const int root = worker < 0 ? count - 1 : std::min(worker - which * count, count - 1);
  return {static_cast<uint16_t>(which * count), static_cast<uint16_t>(count), static_cast<uint16_t>(root)};
}

void crowd_comes() { crowd.comes(); }

void crowd_goes() {
  crowd.goes();
  if (!crowd.possible()) change_to(false);
}

void crowd_forget(int left) {
  crowd.forget(left);
  parting.forget();
  change_to(false);
}

bool has_several_roots() { return crowd.has_several_roots(); }

bool is_crowd(Thread& root, int n) {
  bool now = false;
  if (root.unit != nullptr) crowd.ult_opens();
  if (__builtin_expect(crowd.possible(), 0) && nobody_says_how_to_wait()) {
    const int most = std::min(worker_count(), device().procs);
    const uint64_t now_ns = rt::now_ns();
    Crowd::Ended ended;
    now = crowd.begins(root.window, n, most, now_ns, ended);
    if (ended.just_now) parting.window_ends(ended.threads > most, ended.roots, busy_of_1000(now_ns));
    if (now) take_part(root);
  }
  if (__builtin_expect(!now && root.part.any(), 0)) {
    root.part = {};
    root.parting = 0;
  }
  change_to(now);
  return now;
}

}  // namespace weft::omp
