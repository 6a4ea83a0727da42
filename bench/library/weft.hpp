// weft.hpp: Weft as the benchmarks see it: default settings throughout.
#ifndef WEFT_BENCH_LIBRARY_WEFT_HPP
#define WEFT_BENCH_LIBRARY_WEFT_HPP

#include <pthread.h>
#include <weft/preempt.h>
#include <weft/weft.hpp>

#include "harness.hpp"

namespace bench {

struct Weft {
  static constexpr const char* kVariants[] = {"default settings"};
  using Handle = weft_unit_t;
  using Tasklet = weft_unit_t;
  using Mutex = weft::mutex;
  using Cond = weft_cond_t;
  using Barrier = weft_barrier_t;
  using RwLock = weft_rwlock_t;

  struct Event {
    weft_event_t event = WEFT_EVENT_INIT;
    void wait() { weft_event_wait(&event); }
    void set() { weft_event_set(&event); }
    void reset() { weft_event_reset(&event); }
  };

  class Channel {
   public:
    explicit Channel(size_t capacity) {
      check(weft_channel_create(capacity, sizeof(uint64_t), &channel_) == WEFT_OK,
            "weft_channel_create");
    }
    ~Channel() { weft_channel_free(&channel_); }
    void send(uint64_t value) { weft_channel_send(channel_, &value); }
    uint64_t receive() {
      uint64_t value = 0;
      weft_channel_receive(channel_, &value);
      return value;
    }

   private:
    weft_channel_t channel_ = nullptr;
  };

  void init(int workers, Mode, int) {
    weft_options_t options{};
    options.workers = static_cast<unsigned>(workers);
    options.stack_size = thread_stack();
    check(weft_initialize(&options) == WEFT_OK, "weft_initialize");
  }
  void finalize() { check(weft_finalize() == WEFT_OK, "weft_finalize"); }

  template <void (*F)(void*)>
  void create(Handle& handle, void* arg) {
    check(weft_ult_create(F, arg, nullptr, &handle) == WEFT_OK, "weft_ult_create");
  }
  // On that worker, where it stays.
  template <void (*F)(void*)>
  void create_on(int worker, Handle& handle, void* arg) {
    weft_unit_attr_t attr = WEFT_UNIT_ATTR_INIT;
    attr.worker = weft_worker_get(static_cast<unsigned>(worker));
    attr.pinned = true;
    check(weft_ult_create(F, arg, &attr, &handle) == WEFT_OK, "weft_ult_create");
  }
  void join(Handle& handle) { weft_free(&handle); }

  template <void (*F)(void*)>
  void create_tasklet(Tasklet& handle, void* arg) {
    check(weft_tasklet_create(F, arg, nullptr, &handle) == WEFT_OK, "weft_tasklet_create");
  }
  void join_tasklet(Tasklet& handle) { weft_free(&handle); }

  static void yield() { weft_yield(); }
  static void yield_to(Handle& handle) { weft_yield_to(handle); }
  static void suspend() { weft_suspend(); }
  static void resume(Handle& handle) { weft_resume(handle); }

  static void create_mutex(Mutex&) {}
  static void lock(Mutex& mutex) { mutex.lock(); }
  static void unlock(Mutex& mutex) { mutex.unlock(); }

  static void create_cond(Cond& cond) { cond = WEFT_COND_INIT; }
  static void wait(Cond& cond, Mutex& mutex) { weft_cond_wait(&cond, mutex.native_handle()); }
  static void signal(Cond& cond) { weft_cond_signal(&cond); }

  static void create_barrier(Barrier& barrier, int ults) {
    barrier = WEFT_BARRIER_INIT(static_cast<uint32_t>(ults));
  }
  static void pass(Barrier& barrier) { weft_barrier_wait(&barrier, nullptr); }

  static void create_rwlock(RwLock& lock) { lock = WEFT_RWLOCK_INIT; }
  static void read_lock(RwLock& lock) { weft_rwlock_rdlock(&lock); }
  static void read_unlock(RwLock& lock) { weft_rwlock_unlock(&lock); }

  static void sleep_until(uint64_t deadline_ns) { weft_sleep_until(deadline_ns); }

  // kind: signal_yield, klt_switching; timer: ULTs that ticks leave alone; auto: klt_switching where somebody waits.
  void ticks(const std::string& kind, long interval_us) {
    const weft_preemption_t how = kind == "timer"          ? WEFT_PREEMPTION_NONE
                                  : kind == "signal_yield" ? WEFT_PREEMPTION_SIGNAL_YIELD
                                                           : WEFT_PREEMPTION_KLT_SWITCHING;
    const auto mode = kind == "auto" ? WEFT_PREEMPTION_AUTO : WEFT_PREEMPTION_ON;
    check(weft_preemption_set_default(how) == WEFT_OK, "weft_preemption_set_default");
    check(weft_preemption_set_interval(1000 * static_cast<uint64_t>(interval_us)) == WEFT_OK,
          "weft_preemption_set_interval");
    check(weft_preemption_set_mode(mode) == WEFT_OK, "weft_preemption_set_mode");
  }
  void no_ticks() {
    check(weft_preemption_set_mode(WEFT_PREEMPTION_OFF) == WEFT_OK, "weft_preemption_set_mode");
  }

  // The primary ULT waits as well, so that all workers are idle.
  void idle(double seconds) {
    std::pair<Event, double> wake{{}, seconds};
    const auto later = [](void* arg) -> void* {
      auto& [event, delay] = *static_cast<std::pair<Event, double>*>(arg);
      usleep(static_cast<useconds_t>(delay * 1e6));
      event.set();
      return nullptr;
    };
    pthread_t thread;
    check(pthread_create(&thread, nullptr, later, &wake) == 0, "pthread_create");
    wake.first.wait();
    pthread_join(thread, nullptr);
  }
};

// A fork whose result lies beside it: push() offers it to the other workers, join() runs it here
// or waits for whoever took it. Body has a member run(). The forks of one frame are joined in
// reverse order.
template <class Body>
struct Fork : weft_fork_t {
  Body body;

  void push() {
    invoke = [](weft_fork_t* self) { static_cast<Fork*>(self)->body.run(); };
    weft_fork_push(this);
  }
  void join() {
    if (weft_fork_pop(this)) {
      body.run();
    }
  }
};

}  // namespace bench

#endif  // WEFT_BENCH_LIBRARY_WEFT_HPP
