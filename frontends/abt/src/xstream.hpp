// xstream.hpp: what an ABT_xstream is: a worker, and what Argobots has beyond it.
#pragma once

#include <atomic>
#include <mutex>
#include <vector>

#include "handles.hpp"
#include "sched.hpp"

namespace weft::abt {

struct Xstream {
  // constant once it is known to others
  weft_worker_t worker = nullptr;
  bool primary = false;
  // any thread
  std::atomic<int> rank{0};
  std::atomic<weft_unit_t> stand_in{nullptr};  // the work unit that the main scheduler's code is; made when asked for
  // The main scheduler; what has been replaced is its owner's, or gone.
  Sched* main() const noexcept { return main_.load(std::memory_order_acquire); }
  void set_main(Sched* sched) noexcept { main_.store(sched, std::memory_order_release); }
  std::mutex cpus_lock;
  std::vector<int> cpus;  // under cpus_lock: that it has been bound to; empty: any
  // under the lock of the list
  Xstream* next = nullptr;
  Xstream* prev = nullptr;

 private:
  std::atomic<Sched*> main_{nullptr};  // written by the ES itself, or while it is stopped
};

// Where units that are created on it go.
inline ABT_pool first_pool(const Xstream* xstream) noexcept {
  const auto& pools = xstream->main()->pools;
  return pools.empty() ? ABT_POOL_NULL : pools[0];
}

// The primary ES, on worker 0. ABT_SUCCESS, MEM.
int start_primary() noexcept;
// Joins and frees all others, has the primary one do what is left for it to do, and forgets them all. False: one that nobody but it
// could run the caller afterwards is left, with the primary one. Context: the primary ULT.
bool end_xstreams() noexcept;
// In a child that fork() has just made, which has the caller's thread only. The ES that a ULT has forked on goes on, with what its main scheduler
// serves, as the primary one; the others are not there. False: it was no ULT of Argobots', or there is no memory: then none is there.
bool xstreams_in_child() noexcept;
// Calls f(xstream, arg) for all, in the order of their ranks; none is freed meanwhile.
void for_each_xstream(void (*f)(Xstream*, void*), void* arg) noexcept;
// What ABT_SET_AFFINITY says of them, or null. MEM. For ABT_init(), and with null for ABT_finalize().
int set_places(const char* affinity) noexcept;
// Binds an ES to the CPU that is its by that.
void place(Xstream* xstream) noexcept;
// Null: no memory.
weft_unit_t stand_in_of(Xstream* xstream) noexcept;

}  // namespace weft::abt
