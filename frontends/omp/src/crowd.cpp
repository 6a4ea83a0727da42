#include "crowd.hpp"

#include <algorithm>

#include "icv.hpp"
#include "os/clock.hpp"
#include "runtime.hpp"
#include "wait.hpp"

namespace weft::omp {

namespace {

constinit Crowd crowd;
std::atomic<bool> is_one{false};

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

}  // namespace

bool Crowd::begins(uint64_t& window, int n, int most, uint64_t now_ns) noexcept {
  const uint64_t now = now_ns / kWindowNs;
  if (window != now) {
    window = now;
    uint64_t last = window_.load(std::memory_order_relaxed);
    if (last != now && window_.compare_exchange_strong(last, now, std::memory_order_relaxed)) {
      const int had = threads_.exchange(0, std::memory_order_relaxed);
      before_.store(now == last + 1 ? had : 0, std::memory_order_relaxed);
    }
    threads_.fetch_add(n, std::memory_order_relaxed);
  }
  return std::max(threads_.load(std::memory_order_relaxed), before_.load(std::memory_order_relaxed)) > most;
}

void crowd_comes() { crowd.comes(); }

void crowd_goes() {
  crowd.goes();
  if (!crowd.possible()) change_to(false);
}

void crowd_forget(int left) {
  crowd.forget(left);
  change_to(false);
}

bool is_crowd(Thread& root, int n) {
  const bool now = __builtin_expect(crowd.possible(), 0) && nobody_says_how_to_wait() &&
                   crowd.begins(root.window, n, std::min(worker_count(), device().procs), rt::now_ns());
  change_to(now);
  return now;
}

}  // namespace weft::omp
