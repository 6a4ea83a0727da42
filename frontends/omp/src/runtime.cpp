#include "runtime.hpp"

#include <pthread.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <utility>
#include <vector>

#include "crowd.hpp"
#include "env.hpp"
#include "front/front.hpp"
#include "home.hpp"
#include "keep.hpp"
#include "os/cpu_set.hpp"
#include "os/futex.hpp"
#include "os/kernel_tid.hpp"
#include "os/signal_mask.hpp"
#include "stats.hpp"
#include "task_end.hpp"
#include "thread.hpp"
#include "wait.hpp"
#include "weft/block.h"
#include "weft/preempt.h"
#include "weft/sync.h"

namespace weft::omp {

namespace {

std::atomic<bool> started{false};
std::mutex lock;
thread_local bool has_lock = false;  // for as long as it starts the runtime: its own fork finds that as it is, in the child too
unsigned workers = 1;
bool begun_here = false;
unsigned workers_before_fork = 0;  // in a child: it has one until it opens a region

bool said(const char* variable) {
  const char* value = std::getenv(variable);
  return value != nullptr && *value != '\0';
}

std::atomic<bool> about_to_finish{false};
bool unfinished = false;  // in a child: its parent's was about to, and has stayed behind

bool notices = false;          // whether it is up to us that threads that block are noticed
uint32_t settings_before = 0;  // the program's, of the mode: if there are more then, its own is right

// Nobody has asked for it, so who does not want to know is not told.
void note_if_refused(int error, const char* what) {
  if (error == WEFT_OK || !device().verbose) return;
  std::fprintf(stderr, "weft: a thread that %s: the system does not grant what it takes to notice, or the program handles "
                       "all real-time signals (weft info)\n", what);
}

// A program that is over by then, as many are that scripts call, has no use for it.
constexpr timespec kNotAtOnce{.tv_sec = 0, .tv_nsec = 5'000'000};

// Where each thread is preempted, one may soon be that is in dlopen(), and has what a thread needs to begin. If all workers wait for that one,
// in the kernel, with all signals blocked, nobody else can begin what would notice.
bool is_wanted_at_once() {
  weft_preemption_info_t preemption;
  return weft_preemption_info(&preemption) == WEFT_OK && preemption.mode == WEFT_PREEMPTION_ON;
}

void begin_to_notice() {
  note_if_refused(front::begin_awareness(settings_before), "blocks in the kernel keeps its worker");
  about_to_finish.store(false, std::memory_order_relaxed);
}

void* finish(void*) {
  nanosleep(&kNotAtOnce, nullptr);
  begin_to_notice();
  return nullptr;
}

// What no region waits for, by a thread of its own: threads have to be started, and on the rung `perf` the kernel may take 13 ms (WatchBegins in
// block/watch.hpp). Who blocks meanwhile is seen then.
void finish_apart() {
  if (!notices) return;
  about_to_finish.store(true, std::memory_order_relaxed);
  settings_before = front::blocking_settings_made();
  const rt::SignalsBlocked scope;
  pthread_t thread;
  if (!is_wanted_at_once() && pthread_create(&thread, nullptr, finish, nullptr) == 0) {
    pthread_detach(thread);
  } else {
    begin_to_notice();
  }
}

// Code that spins or blocks must not keep the others of its team from running: that is how OpenMP's threads are used, and
// libraries spin outside of regions too, for what somebody holds who is in one. Also where somebody else has begun the runtime,
// with neither.
void let_others_run() {
  weft_preemption_info_t preemption;
  if (!said("WEFT_PREEMPTION") && weft_preemption_info(&preemption) == WEFT_OK && preemption.mode == WEFT_PREEMPTION_OFF)
    note_if_refused(weft_preemption_set_mode(WEFT_PREEMPTION_AUTO), "computes or spins keeps its worker");
  weft_blocking_info_t blocking;
  notices = !said("WEFT_BLOCKING") && weft_blocking_info(&blocking) == WEFT_OK && blocking.mode == WEFT_BLOCKING_OFF;
}

// In the order in which workers get them; empty: the core's.
std::vector<int> cpus_wanted() {
  if (!places_bind()) return device().cpus;
  const int place = device().initial.place_first;
  return cpus_for_workers(device().workers > 0 ? device().workers : device().share, place);
}

bool unwinder_is_left = false;  // to the thread that makes identities, also where threads get none

// `cpu`: where the thread is for whom it is.
void initialize_here(int cpu) {
  const bool first = !weft_initialized();
  weft_options_t options = {};
  options.workers = static_cast<unsigned>(device().workers);
  const std::vector<int> cpus = cpus_wanted();
  if (!cpus.empty()) {
    front::prefer_cpus(cpus.data(), static_cast<int>(cpus.size()));
    if (options.workers == 0 && !said("WEFT_WORKERS_CPUS")) options.workers = static_cast<unsigned>(device().share);
  } else if (options.workers == 0 && !said("WEFT_WORKERS_CPUS") && !said("WEFT_WORKERS_COUNT")) {
    options.workers = static_cast<unsigned>(share_still());  // the quota need not be read again
  }
  // A runtime that merely has been loaded leaves the program's threads on the CPUs where they are.
  const bool bound = device().initial.bind != Bind::kFalse || !cpus.empty();
  if (!bound && !said("WEFT_WORKERS_BIND") && !said("WEFT_WORKERS_CPUS")) options.bind = -1;
  front::leave_unwinder();
  if (const int error = weft_initialize(&options); error != WEFT_OK) {
    std::fprintf(stderr, "weft: OpenMP cannot start: %s\n", weft_strerror(error));
    std::abort();
  }
  begun_here = first;
  unwinder_is_left = front::begin_identities();
  workers = weft_worker_count();
  if (first && options.bind == -1) homes_give(cpu);
  keep_begin();
  // As the threads themselves wait: wait.hpp.
  workers_look_on(true);
  let_others_run();
}

struct Kept {
  int cpu;
  rt::FutexWord ready{0};
};

// The thread that stands in for the main thread, where that is not the first to come.
void* keep(void* arg) {
  auto* kept = static_cast<Kept*>(arg);
  has_lock = true;  // who waits for us has it
  initialize_here(kept->cpu);
  has_lock = false;
  weft_event_t never = WEFT_EVENT_INIT;
  kept->ready.store(1, std::memory_order_release);
  rt::futex_wake(kept->ready, 1);
  weft_event_wait(&never);
  return nullptr;
}

void initialize_by_keeper() {
  Kept kept{rt::cpu_now()};
  pthread_t thread;
  if (const int error = pthread_create(&thread, nullptr, &keep, &kept); error != 0) {
    std::fprintf(stderr, "weft: OpenMP cannot start: the system refuses a thread (error %d)\n", error);
    std::abort();
  }
  pthread_detach(thread);
  while (kept.ready.load(std::memory_order_acquire) == 0) rt::futex_wait(kept.ready, 0);
}

// In the child there is the thread that has called fork(), and nobody else. Regions that it is in go on with it alone. Under the lock: others
// may fork just then.
Thread* forking = nullptr;
int forked_at = 0;  // its place

void before_fork() {
  if (has_lock) return;
  lock.lock();
  forking = started.load(std::memory_order_relaxed) ? this_thread_if_any() : nullptr;
  device_lock();
  thread_table_lock();
  tool::fork_begins();
}

void unlock_all() {
  if (has_lock) return;
  tool::fork_ends();
  thread_table_unlock();
  device_unlock();
  lock.unlock();
}

void after_fork_child() {
  if (has_lock) return;
  tool::fork_ends_in_child();
  tool::forget_who_begins();
  if (!started.load(std::memory_order_relaxed)) return unlock_all();
  threads_forget_all_but(forking);
  late_events_forget();
  keep_forget();
  if (forking != nullptr) {
    forking->unit = weft_initialized() ? weft_self() : nullptr;
    forking->kept = nullptr;
    forking->kept_at = -1;
    forked_at = std::max(forking->member->place, 0);
    for (Member* member = forking->member; member != nullptr; member = member->outer) {
      member->team->n = 1;
      member->inner = nullptr;
      member->num = 0;
    }
  }
  crowd_forget(forking != nullptr && forking->unit == nullptr ? 1 : 0);
  started.store(weft_initialized(), std::memory_order_relaxed);
  workers_before_fork = std::max(workers, workers_before_fork);
  if (weft_initialized()) workers = weft_worker_count();
  unfinished = about_to_finish.exchange(false, std::memory_order_relaxed);
  unlock_all();
  stats_forget();
  tool::forget_threads();
  // Of a kernel thread's the core has stayed behind. It is met again, with another core; but inside a region, which goes on
  // alone.
  if (forking != nullptr && !weft_initialized() && forking->member->outer == nullptr) thread_forget_in_child(forking);
}

// When it is loaded the process has one thread, as a rule. Later on, a fork may have passed by what is registered only then.
[[gnu::constructor]] void prepare() {
  front::prepare();
  pthread_atfork(&before_fork, &unlock_all, &after_fork_child);
}

// As their parent's were.
void bind_workers() {
  if (!places_bind() || !begun_here) return;
  const std::vector<int> cpus = cpus_for_workers(worker_count(), forked_at);
  for (unsigned i = 0; i < workers && !cpus.empty(); ++i) weft_worker_bind(weft_worker_get(i), cpus[i % cpus.size()]);
}

}  // namespace

namespace {

bool stands_in_for_main = false;  // a keeper; from before `started` on

// As the primary ULT it would have a kernel thread that nobody else may use: with preemption each of its waits would change the kernel thread.
void adopt_main() { front::adopt_caller(weft_worker_pool(weft_worker_get(0))); }  // as thread_start() says

// False: somebody else has been first.
bool start() {
  const std::scoped_lock hold(lock);
  if (started.load(std::memory_order_relaxed)) return false;
  has_lock = !weft_initialized();  // a ULT could leave its thread
  stats_start();
  const bool on_main = rt::kernel_tid() == getpid();
  stands_in_for_main = !weft_initialized() && (!on_main || front::may_adopt());
  if (!stands_in_for_main) {
    initialize_here(rt::cpu_now());
  } else {
    front::will_adopt();
    initialize_by_keeper();
    if (on_main) adopt_main();
  }
  finish_apart();  // only now: it has the lock for which adopt_caller() would wait
  has_lock = false;
  started.store(true, std::memory_order_release);
  return true;
}

}  // namespace

void runtime_start() {
  if (started.load(std::memory_order_acquire) || !start()) return;
  // By the caller, which may have the loader's lock already (a library's constructor), and with no lock for which another one waits.
  if (!unwinder_is_left) front::load_unwinder();
}

// Another thread may have been the first to come.
void runtime_meets_main() {
  if (stands_in_for_main && front::self() == nullptr && front::may_adopt()) adopt_main();
}

void workers_complete() {
  if (workers_before_fork == 0) return;
  const std::scoped_lock hold(lock);
  for (; workers < workers_before_fork; ++workers) {
    weft_worker_t worker = nullptr;
    if (weft_worker_create(nullptr, &worker) != WEFT_OK) break;  // it goes on with fewer
  }
  workers_before_fork = 0;
  bind_workers();
  keep_begin();
  if (!std::exchange(unfinished, false)) return;
  let_others_run();
  finish_apart();
}

int worker_count() { return static_cast<int>(workers); }
bool workers_stay() { return begun_here; }

}  // namespace weft::omp
