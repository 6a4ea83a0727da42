// runtime.hpp: the one runtime of the process.
#pragma once

#include <atomic>
#include <mutex>

#include "config/options.hpp"
#include "os/cpu_set.hpp"
#include "worker/worker.hpp"

namespace weft::rt {

// Whoever has it may need a worker to go on: it may have lost its own in the kernel before, or while it waited for this lock. So a ULT that
// finds it taken gives its worker away before it waits, also one that is not aware of blocking.
class SetupMutex {
 public:
  void lock() noexcept;
  bool try_lock() noexcept { return mutex_.try_lock(); }
  void unlock() noexcept { mutex_.unlock(); }

 private:
  std::mutex mutex_;
};

struct Runtime {
  // constant while initialised
  Options options;
  Klt* initial = nullptr;
  Unit* primary = nullptr;
  bool affinity_known = false;
  CpuSet affinity;  // of the initialising thread, before it was bound
  // any thread
  std::atomic<bool> running{false};
  std::atomic<Worker*> workers[kMaxWorkers] = {};  // [0, worker_slots) have been used
  std::atomic<unsigned> worker_slots{0};
  std::atomic<unsigned> active{0};      // workers that run
  std::atomic<unsigned> suspended{0};   // of these, those that are suspended
  std::atomic<uint32_t> packing{0};     // another number as soon as somebody is suspended, goes on, or serves other pools
  std::atomic<unsigned> next_lane{0};   // where foreign threads push, in turn
  alignas(64) std::atomic<int> sleepers{0};   // workers that sleep
  alignas(64) std::atomic<int> searchers{0};  // workers that look round, and would steal
  std::atomic<int> hungry{0};                 // those of both kinds that would steal
  std::atomic<bool> idle_sleeps_at_once{false};
  std::atomic<uint64_t> idle_patience_ns{0};  // sleeps that were shorter were in vain: idle.cpp; 0: all are right
  // under `setup`
  SetupMutex setup;
  unsigned initialized = 0;
};

extern Runtime runtime;

// Workers that are not suspended. A moment's figure; at least one.
inline unsigned workers_active() noexcept {
  const unsigned suspended = runtime.suspended.load(std::memory_order_relaxed);
  const unsigned all = runtime.active.load(std::memory_order_relaxed);
  return all > suspended ? all - suspended : 1;
}

inline bool runtime_running() noexcept { return runtime.running.load(std::memory_order_acquire); }

// Creates a worker that is not carried by anybody yet. Null: out of memory or slots.
Worker* worker_create(Sched* sched) noexcept;
// Gives it a KLT. WEFT_OK or an error.
int worker_start(Worker* worker, Klt* klt = nullptr) noexcept;  // klt: as spare_for_new_worker() returns
void worker_destroy(Worker* worker) noexcept;
void worker_end_own_sched(Worker* worker) noexcept;  // if it has begun; nobody uses it
// Keeps the record of a worker that is no more, for the next one.
void worker_retire(Worker* worker) noexcept;

// The CPUs for workers where the options say nothing. Before the runtime starts.
void runtime_prefer_cpus(const int* cpus, int count) noexcept;

// The last weft_finalize(), whatever units are alive: they are dropped.
int runtime_finalize_dropping() noexcept;

// The stack of the primary ULT.
extern Stack primary_stack;
// The record gets the calling thread's own stack.
void adopt_stack(Stack& stack, bool first_thread) noexcept;

}  // namespace weft::rt
