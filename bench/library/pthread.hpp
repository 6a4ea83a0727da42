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
  void join(Handle& handle) { pthread_join(handle, nullptr); }
  static void yield() { sched_yield(); }

  static void create_mutex(Mutex& mutex) { pthread_mutex_init(&mutex, nullptr); }
  static void lock(Mutex& mutex) { pthread_mutex_lock(&mutex); }
  static void unlock(Mutex& mutex) { pthread_mutex_unlock(&mutex); }
};

}  // namespace bench

#endif  // WEFT_BENCH_LIBRARY_PTHREAD_HPP
