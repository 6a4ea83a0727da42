// qthreads.hpp: Qthreads as the benchmarks see it: one worker per shepherd; a join reads the
// result word, which is a full/empty bit word (aligned_t) or a syncvar.
#ifndef WEFT_BENCH_LIBRARY_QTHREADS_HPP
#define WEFT_BENCH_LIBRARY_QTHREADS_HPP

#include <qthread/barrier.h>
#include <qthread/qthread.h>

#include "harness.hpp"

namespace bench {

struct Qthreads {
  static constexpr const char* kVariants[] = {"result in an aligned_t", "result in a syncvar"};
  struct Handle {
    aligned_t word = 0;
    syncvar_t var{};
  };
  using Tasklet = aligned_t;
  using Mutex = aligned_t;
  using Barrier = qt_barrier_t*;

  // A full/empty bit word is a channel of capacity 1.
  class Channel {
   public:
    explicit Channel(size_t capacity) {
      check(capacity == 1, "a full/empty bit word holds one element");
      qthread_empty(&word_);
    }
    void send(uint64_t value) { qthread_writeEF_const(&word_, value); }
    uint64_t receive() {
      aligned_t value = 0;
      qthread_readFE(&value, &word_);
      return value;
    }

   private:
    aligned_t word_ = 0;
  };

  void init(int workers, Mode mode, int variant) {
    syncvar_ = variant == 1;
    setenv("QT_NUM_SHEPHERDS", std::to_string(workers).c_str(), 1);
    setenv("QT_NUM_WORKERS_PER_SHEPHERD", "1", 1);
    check(qthread_initialize() == QTHREAD_SUCCESS, "qthread_initialize");
    check(qthread_num_workers() == workers, "number of workers");
    for (int i = 0; mode == Mode::kPinned && i < workers; ++i) {
      Handle handle;
      create_on<bind>(i, handle, reinterpret_cast<void*>(static_cast<intptr_t>(i)));
      join(handle);
    }
  }
  void finalize() { qthread_finalize(); }

  template <void (*F)(void*)>
  void create(Handle& handle, void* arg) {
    if (syncvar_) {
      qthread_syncvar_empty(&handle.var);
      check(qthread_fork_syncvar(run<F>, arg, &handle.var) == 0, "qthread_fork_syncvar");
    } else {
      check(qthread_fork(run<F>, arg, &handle.word) == 0, "qthread_fork");
    }
  }
  template <void (*F)(void*)>
  void create_on(int worker, Handle& handle, void* arg) {
    const auto shepherd = static_cast<qthread_shepherd_id_t>(worker);
    if (syncvar_) {
      qthread_syncvar_empty(&handle.var);
      check(qthread_fork_syncvar_to(run<F>, arg, &handle.var, shepherd) == 0,
            "qthread_fork_syncvar_to");
    } else {
      check(qthread_fork_to(run<F>, arg, &handle.word, shepherd) == 0, "qthread_fork_to");
    }
  }
  void join(Handle& handle) {
    if (syncvar_) {
      qthread_syncvar_readFF(nullptr, &handle.var);
    } else {
      qthread_readFF(nullptr, &handle.word);
    }
  }

  // A "simple" qthread shares its worker's stack and runs to completion.
  template <void (*F)(void*)>
  void create_tasklet(Tasklet& handle, void* arg) {
    const int rc =
        qthread_spawn(run<F>, arg, 0, &handle, 0, nullptr, NO_SHEPHERD, QTHREAD_SPAWN_SIMPLE);
    check(rc == QTHREAD_SUCCESS, "qthread_spawn");
  }
  void join_tasklet(Tasklet& handle) { qthread_readFF(nullptr, &handle); }

  static void yield() { qthread_yield(); }

  static void create_mutex(Mutex& mutex) { mutex = 0; }
  static void lock(Mutex& mutex) { qthread_lock(&mutex); }
  static void unlock(Mutex& mutex) { qthread_unlock(&mutex); }

  static void create_barrier(Barrier& barrier, int ults) {
    barrier = qt_barrier_create(static_cast<size_t>(ults), REGION_BARRIER);
  }
  static void pass(Barrier& barrier) { qt_barrier_enter(barrier); }

  void idle(double seconds) { usleep(static_cast<useconds_t>(seconds * 1e6)); }

 private:
  template <void (*F)(void*)>
  static aligned_t run(void* arg) {
    F(arg);
    return 0;
  }

  static void bind(void* worker) {
    bind_to_cpu_of(static_cast<int>(reinterpret_cast<intptr_t>(worker)));
  }

  bool syncvar_ = false;
};

}  // namespace bench

#endif  // WEFT_BENCH_LIBRARY_QTHREADS_HPP
