// process_fork.cpp: what happens round a fork() of the process. See README.md, "The process forks".
//
// Registered when the library is loaded and not at the first initialise: handlers that run before the fork
// are called newest first, so nearly everybody else's are through before the gate is closed. Closed earlier,
// it could hold a thread back that has a lock which a later handler waits for.
#include "worker/process_fork.hpp"

#include <pthread.h>
#include <sched.h>

#include <cstdlib>

#include "base/check.hpp"
#include "identity/identity.hpp"
#include "identity/keeper.hpp"
#include "klt/kernel_sleep.hpp"
#include "klt/own_action.hpp"
#include "klt/process_gate.hpp"
#include "klt/time_slice.hpp"
#include "os/loader_work.hpp"
#include "worker/runtime.hpp"
#include "worker/spare_maker.hpp"
#include "worker/unit_signal.hpp"

namespace weft::rt {
namespace {

// Under runtime.setup: the fork that is under way.
struct Forking {
  Klt* self;    // the calling thread's; null: it is no KLT
  bool running;  // the runtime
  bool inside;  // a signal handler that has interrupted Weft forks: it cannot wait for itself
};
constinit Forking forking{};

// A ULT that forks is not preempted until it has done so: it has the lock, and others' handlers may have theirs.
void allow_preemption() noexcept {
  if (!klt_register_valid()) return;
  klt_register_add32<kKltNoPreemption>(static_cast<unsigned>(-1));
  if (preempt_tick_waits()) preempt_later();
}

// See klt/process_gate.cpp, see_whether_out(): the same for our threads that are no KLTs. Nobody makes one while the gate is
// closed, and whoever ends one joins it under runtime.setup.
void let_threads_begin() noexcept {
  while (spare_maker_is_starting() || block_scouts_are_starting() || keeper_is_starting() || preempt_metronome_is_starting()) sched_yield();
}

void before_fork() noexcept {
  if (klt_register_valid()) klt_register_add32<kKltNoPreemption>(1);
  runtime.setup.lock();
  Klt* const self = klt_register_valid() ? klt_self() : nullptr;
  const bool inside = self != nullptr && klt_is_inside(self);
  forking = {self, runtime_running(), inside};
  if (inside) return;
  loader_work_fork_begins();
  // From here on nobody takes our worker. It is not looked at: it may be gone already.
  if (self != nullptr) klt_register_store32<kKltGuard>(kGuardUp);
  gate_close(self, forking.running);
  let_threads_begin();
  identity_fork_begins();
}

void after_fork_in_parent() noexcept {
  const bool lowers = forking.self != nullptr && !forking.inside;
  if (!forking.inside) {
    loader_work_fork_ends();
    identity_fork_ends();
    gate_open(forking.running);
    // What others have noted meanwhile is seen at the next leave: not here, where a ULT may not suspend. Signals are taken below, while this may
    // not be left: later handlers of this fork have locks of their own.
    if (lowers) klt_register_store32<kKltGuard>(kGuardDown);
  }
  if (forking.self != nullptr) klt_has_forked(forking.self);
  runtime.setup.unlock();
  if (lowers) unit_signals_look();
  allow_preemption();
}

void after_fork_in_child() noexcept {
  ++process_generation;
  own_action_become_child();
  loader_work_fork_ends_in_child();
  if (!forking.inside) gate_reset();
  if (forking.running) {
    process_become_child(forking.self, forking.inside);
  } else if (!forking.inside) {
    identity_fork_ends();
  }
  if (forking.self != nullptr) klt_register_store32<kKltGuard>(kGuardDown);
  runtime.setup.unlock();
  allow_preemption();
}

__attribute__((constructor(101))) void watch_forks() {
  WEFT_CHECK(pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child) == 0);
}

}  // namespace

void process_end_of_unit() noexcept { std::exit(0); }

// The surviving ULT of a forked child has returned from its function.
extern "C" __attribute__((visibility("hidden"))) void weft_rt_call_returned() { process_end_of_unit(); }

}  // namespace weft::rt
