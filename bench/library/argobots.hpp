// argobots.hpp: Argobots as the benchmarks see it.
//
// Plain: one FIFO pool, either the default one or a private one (its documentation's advice where
// one execution stream alone uses a pool). Fork-join: a RANDWS pool (newest first for the owner)
// and a RANDWS scheduler per execution stream, as in its own Fibonacci example. Pinned: a default
// scheduler and pool per execution stream, as in its own benchmarks.
#ifndef WEFT_BENCH_LIBRARY_ARGOBOTS_HPP
#define WEFT_BENCH_LIBRARY_ARGOBOTS_HPP

#include <abt.h>
#include <pthread.h>

#include <vector>

#include "harness.hpp"

namespace bench {

struct Argobots {
  static constexpr const char* kVariants[] = {"default pool", "private pool"};
  using Handle = ABT_thread;
  using Tasklet = ABT_task;
  using Mutex = ABT_mutex;
  using Cond = ABT_cond;
  using Barrier = ABT_barrier;
  using RwLock = ABT_rwlock;

  // A pool that several execution streams push to cannot be private.
  static bool applies(Mode mode, int variant) { return mode == Mode::kPlain || variant == 0; }

  void init(int workers, Mode mode, int variant) {
    if (thread_stack() != 0) {
      setenv("ABT_THREAD_STACKSIZE", "65536", 1);  // a ULT's own part of a deep tree
    }
    check(ABT_init(0, nullptr) == ABT_SUCCESS, "ABT_init");
    ABT_xstream_self(&xstreams_[0]);
    if (mode == Mode::kForkJoin) {
      start_work_stealing(workers);
      return;
    }
    if (mode == Mode::kPinned) {
      start_pinned(workers);
      return;
    }
    check(workers == 1, "plain mode has one worker");
    if (variant == 1) {
      ABT_pool_create_basic(ABT_POOL_FIFO, ABT_POOL_ACCESS_PRIV, ABT_TRUE, &pools_[0]);
      const int rc =
          ABT_xstream_set_main_sched_basic(xstreams_[0], ABT_SCHED_DEFAULT, 1, pools_.data());
      check(rc == ABT_SUCCESS, "ABT_xstream_set_main_sched_basic");
    } else {
      ABT_xstream_get_main_pools(xstreams_[0], 1, pools_.data());
    }
  }

  void finalize() {
    for (size_t i = 1; i < xstreams_.size(); ++i) {
      ABT_xstream_join(xstreams_[i]);
      ABT_xstream_free(&xstreams_[i]);
    }
    check(ABT_finalize() == ABT_SUCCESS, "ABT_finalize");
  }

  template <void (*F)(void*)>
  void create(Handle& handle, void* arg) {
    check(ABT_thread_create(pool(), F, arg, ABT_THREAD_ATTR_NULL, &handle) == ABT_SUCCESS,
          "ABT_thread_create");
  }
  // In the pool of that execution stream.
  template <void (*F)(void*)>
  void create_on(int worker, Handle& handle, void* arg) {
    const ABT_pool pool = pools_.at(static_cast<size_t>(worker));
    check(ABT_thread_create(pool, F, arg, ABT_THREAD_ATTR_NULL, &handle) == ABT_SUCCESS,
          "ABT_thread_create");
  }
  void join(Handle& handle) { ABT_thread_free(&handle); }

  template <void (*F)(void*)>
  void create_tasklet(Tasklet& handle, void* arg) {
    check(ABT_task_create(pool(), F, arg, &handle) == ABT_SUCCESS, "ABT_task_create");
  }
  void join_tasklet(Tasklet& handle) { ABT_task_free(&handle); }

  static void yield() { ABT_self_yield(); }
  static void yield_to(Handle& handle) { ABT_thread_yield_to(handle); }
  static void suspend() { ABT_self_suspend(); }
  static void resume(Handle& handle) { ABT_thread_resume(handle); }

  static void create_mutex(Mutex& mutex) { ABT_mutex_create(&mutex); }
  static void lock(Mutex& mutex) { ABT_mutex_lock(mutex); }
  static void unlock(Mutex& mutex) { ABT_mutex_unlock(mutex); }

  static void create_cond(Cond& cond) { ABT_cond_create(&cond); }
  static void wait(Cond& cond, Mutex& mutex) { ABT_cond_wait(cond, mutex); }
  static void signal(Cond& cond) { ABT_cond_signal(cond); }

  static void create_barrier(Barrier& barrier, int ults) {
    check(ABT_barrier_create(static_cast<uint32_t>(ults), &barrier) == ABT_SUCCESS,
          "ABT_barrier_create");
  }
  static void pass(Barrier& barrier) { ABT_barrier_wait(barrier); }

  static void create_rwlock(RwLock& lock) { ABT_rwlock_create(&lock); }
  static void read_lock(RwLock& lock) { ABT_rwlock_rdlock(lock); }
  static void read_unlock(RwLock& lock) { ABT_rwlock_unlock(lock); }

  // The first ULT waits as well, so that all execution streams are idle.
  void idle(double seconds) {
    ABT_eventual eventual;
    ABT_eventual_create(0, &eventual);
    std::pair<ABT_eventual, double> wake{eventual, seconds};
    pthread_t thread;
    pthread_create(&thread, nullptr, wake_later, &wake);
    ABT_eventual_wait(eventual, nullptr);
    pthread_join(thread, nullptr);
    ABT_eventual_free(&eventual);
  }

 private:
  static void* wake_later(void* arg) {
    const auto& wake = *static_cast<std::pair<ABT_eventual, double>*>(arg);
    usleep(static_cast<useconds_t>(wake.second * 1e6));
    ABT_eventual_set(wake.first, nullptr, 0);
    return nullptr;
  }

  ABT_pool pool() const {
    if (pools_.size() == 1) {
      return pools_[0];
    }
    int rank = 0;
    ABT_self_get_xstream_rank(&rank);
    return pools_[static_cast<size_t>(rank)];
  }

  void start_work_stealing(int workers) {
    const auto n = static_cast<size_t>(workers);
    pools_.resize(n);
    xstreams_.resize(n);
    for (ABT_pool& pool : pools_) {
      ABT_pool_create_basic(ABT_POOL_RANDWS, ABT_POOL_ACCESS_MPMC, ABT_TRUE, &pool);
    }
    for (size_t i = 0; i < n; ++i) {
      std::vector<ABT_pool> order;
      for (size_t j = 0; j < n; ++j) {
        order.push_back(pools_[(i + j) % n]);
      }
      const int rc = i == 0 ? ABT_xstream_set_main_sched_basic(xstreams_[0], ABT_SCHED_RANDWS,
                                                               workers, order.data())
                            : ABT_xstream_create_basic(ABT_SCHED_RANDWS, workers, order.data(),
                                                       ABT_SCHED_CONFIG_NULL, &xstreams_[i]);
      check(rc == ABT_SUCCESS, "starting an execution stream");
    }
  }

  // Binding is done from inside: it does not depend on how Argobots was configured.
  void start_pinned(int workers) {
    const auto n = static_cast<size_t>(workers);
    pools_.resize(n);
    xstreams_.resize(n);
    for (size_t i = 0; i < n; ++i) {
      if (i > 0) {
        check(ABT_xstream_create(ABT_SCHED_NULL, &xstreams_[i]) == ABT_SUCCESS,
              "ABT_xstream_create");
      }
      ABT_xstream_get_main_pools(xstreams_[i], 1, &pools_[i]);
      const auto bind = [](void* worker) {
        bind_to_cpu_of(static_cast<int>(reinterpret_cast<intptr_t>(worker)));
      };
      ABT_thread thread = ABT_THREAD_NULL;
      ABT_thread_create(pools_[i], bind, reinterpret_cast<void*>(i), ABT_THREAD_ATTR_NULL,
                        &thread);
      ABT_thread_free(&thread);
    }
  }

  std::vector<ABT_pool> pools_{ABT_POOL_NULL};
  std::vector<ABT_xstream> xstreams_{ABT_XSTREAM_NULL};
};

}  // namespace bench

#endif  // WEFT_BENCH_LIBRARY_ARGOBOTS_HPP
