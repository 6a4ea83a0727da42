// pthread.hpp: the kernel's threads as the benchmarks see them: what user-level threads save.
#ifndef WEFT_BENCH_LIBRARY_PTHREAD_HPP
#define WEFT_BENCH_LIBRARY_PTHREAD_HPP

#include <pthread.h>

#include "harness.hpp"

namespace bench {

struct Pthread {
  static constexpr const char* kVariants[] = {"default attributes"};
  static constexpr bool kPreemptive = true;
  using Handle = pthread_t;
  using Mutex = pthread_mutex_t;
  using Cond = pthread_cond_t;
  using Barrier = pthread_barrier_t;
  using RwLock = pthread_rwlock_t;

  void init(int, Mode, int) {}
  void finalize() {}

  template <void (*F)(void*)>
  void create(Handle& handle, void* arg) {
    const auto run = [](void* p) -> void* {
      F(p);
      return nullptr;
    };
    check(pthread_create(&handle, nullptr, run, arg) == 0, "pthread_create");
  }
  template <void (*F)(void*)>
  void create_on(int worker, Handle& handle, void* arg) {
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(cpus.at(static_cast<size_t>(worker)), &one);
    pthread_attr_t attr;
    pthread_attr_init(&attr);
    pthread_attr_setaffinity_np(&attr, sizeof one, &one);
    const auto run = [](void* p) -> void* {
      F(p);
      return nullptr;
    };
    check(pthread_create(&handle, &attr, run, arg) == 0, "pthread_create");
    pthread_attr_destroy(&attr);
  }
  void join(Handle& handle) { pthread_join(handle, nullptr); }
  static void yield() { sched_yield(); }

  static void create_mutex(Mutex& mutex) { pthread_mutex_init(&mutex, nullptr); }
  static void lock(Mutex& mutex) { pthread_mutex_lock(&mutex); }
  static void unlock(Mutex& mutex) { pthread_mutex_unlock(&mutex); }

  static void create_cond(Cond& cond) { pthread_cond_init(&cond, nullptr); }
  static void wait(Cond& cond, Mutex& mutex) { pthread_cond_wait(&cond, &mutex); }
  static void signal(Cond& cond) { pthread_cond_signal(&cond); }

  static void create_barrier(Barrier& barrier, int ults) {
    check(pthread_barrier_init(&barrier, nullptr, static_cast<unsigned>(ults)) == 0,
          "pthread_barrier_init");
  }
  static void pass(Barrier& barrier) { pthread_barrier_wait(&barrier); }

  static void create_rwlock(RwLock& lock) { pthread_rwlock_init(&lock, nullptr); }
  static void read_lock(RwLock& lock) { pthread_rwlock_rdlock(&lock); }
  static void read_unlock(RwLock& lock) { pthread_rwlock_unlock(&lock); }

  // The kernel has its own.
  void ticks(const std::string&, long) {}
  void no_ticks() {}

  static void sleep_until(uint64_t deadline_ns) {
    const timespec deadline{static_cast<time_t>(deadline_ns / 1'000'000'000),
                            static_cast<long>(deadline_ns % 1'000'000'000)};
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &deadline, nullptr) != 0) {
    }
  }
};

}  // namespace bench

#endif  // WEFT_BENCH_LIBRARY_PTHREAD_HPP
