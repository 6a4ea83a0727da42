// massivethreads.hpp: MassiveThreads as the benchmarks see it. Its default runs a child at once
// (child first); the other way is tried too where order matters.
#ifndef WEFT_BENCH_LIBRARY_MASSIVETHREADS_HPP
#define WEFT_BENCH_LIBRARY_MASSIVETHREADS_HPP

#include <myth/myth.h>

#include "harness.hpp"

namespace bench {

struct MassiveThreads {
  static constexpr const char* kVariants[] = {"child first", "parent first"};
  using Handle = myth_thread_t;
  using Mutex = myth_mutex_t;
  using Cond = myth_cond_t;
  using Barrier = myth_barrier_t;

  void init(int workers, Mode, int variant) {
    myth_globalattr_t attr;
    myth_globalattr_init(&attr);
    myth_globalattr_set_n_workers(&attr, static_cast<size_t>(workers));
    myth_init_ex(&attr);  // its result is not what its documentation says
    check(myth_get_num_workers() == workers, "number of workers");
    myth_thread_attr_init(&attr_);
    attr_.child_first = variant == 0;
  }
  void finalize() { myth_fini(); }

  template <void (*F)(void*)>
  void create(Handle& handle, void* arg) {
    const auto run = [](void* p) -> void* {
      F(p);
      return nullptr;
    };
    if (attr_.child_first) {
      handle = myth_create(run, arg);
    } else {
      myth_create_ex(&handle, &attr_, run, arg);
    }
  }
  // It cannot hold a thread on a worker: idle workers steal.
  template <void (*F)(void*)>
  void create_on(int, Handle& handle, void* arg) {
    create<F>(handle, arg);
  }
  void join(Handle& handle) { myth_join(handle, nullptr); }
  static void yield() { myth_yield_ex(myth_yield_option_local_only); }

  static void create_mutex(Mutex& mutex) { myth_mutex_init(&mutex, nullptr); }
  static void lock(Mutex& mutex) { myth_mutex_lock(&mutex); }
  static void unlock(Mutex& mutex) { myth_mutex_unlock(&mutex); }

  static void create_cond(Cond& cond) { myth_cond_init(&cond, nullptr); }
  static void wait(Cond& cond, Mutex& mutex) { myth_cond_wait(&cond, &mutex); }
  static void signal(Cond& cond) { myth_cond_signal(&cond); }

  static void create_barrier(Barrier& barrier, int ults) {
    myth_barrier_init(&barrier, nullptr, ults);
  }
  static void pass(Barrier& barrier) { myth_barrier_wait(&barrier); }

  void idle(double seconds) { usleep(static_cast<useconds_t>(seconds * 1e6)); }

 private:
  myth_thread_attr_t attr_{};
};

}  // namespace bench

#endif  // WEFT_BENCH_LIBRARY_MASSIVETHREADS_HPP
