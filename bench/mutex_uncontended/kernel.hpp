// mutex_uncontended: one ULT locks and unlocks a mutex that nobody else wants; ns per pair.
#ifndef WEFT_BENCH_MUTEX_UNCONTENDED_KERNEL_HPP
#define WEFT_BENCH_MUTEX_UNCONTENDED_KERNEL_HPP

#include "harness.hpp"

namespace bench {

template <class Lib>
struct Locker {
  uint64_t pairs;
  typename Lib::Mutex* mutex;
  uint64_t count;  // guarded by *mutex

  static void run(void* arg) {
    auto& me = *static_cast<Locker*>(arg);
    for (uint64_t i = 0; i < me.pairs; ++i) {
      Lib::lock(*me.mutex);
      *const_cast<volatile uint64_t*>(&me.count) = me.count + 1;
      Lib::unlock(*me.mutex);
    }
  }
};

template <class Lib>
void lock_pairs(Lib& lib, typename Lib::Mutex& mutex, uint64_t pairs) {
  Locker<Lib> locker{pairs, &mutex, 0};
  typename Lib::Handle handle;
  lib.template create<Locker<Lib>::run>(handle, &locker);
  lib.join(handle);
  check(locker.count == pairs, "number of pairs");
}

template <class Lib>
int mutex_uncontended(int argc, char** argv) {
  const Setup setup(argc, argv, {});
  report_best<Lib>(setup, "ns", Mode::kPlain, [&](Lib& lib) {
    typename Lib::Mutex mutex;
    Lib::create_mutex(mutex);
    return time_per_op(setup, 1, [&](uint64_t n) { lock_pairs(lib, mutex, n); });
  });
  return 0;
}

// For libraries without ULTs of their own: the calling thread locks.
template <class Lock, class Unlock>
void report_locking(const Setup& setup, Lock&& lock, Unlock&& unlock) {
  volatile uint64_t count = 0;
  const Sample sample = time_per_op(setup, 1, [&](uint64_t n) {
    count = 0;
    for (uint64_t i = 0; i < n; ++i) {
      lock();
      count = count + 1;
      unlock();
    }
    check(count == n, "number of pairs");
  });
  setup.report("ns", sample);
}

}  // namespace bench

#endif  // WEFT_BENCH_MUTEX_UNCONTENDED_KERNEL_HPP
