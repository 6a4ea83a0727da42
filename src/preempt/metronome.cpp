// metronome.cpp: ticks from a thread of ours, for KLTs to which the kernel grants no timer.
//
// Each timer takes one of the signals that may be queued (`ulimit -i`), of which all processes of the user's share one number. A KLT
// that gets none would keep its worker for as long as its ULT likes: a spinner for ever. So the time of its tick is noted in the KLT, and this
// thread, which sleeps until the first one is due, sends it (own_signal_send(): it comes also where nothing can be queued). It is
// later than a timer's by the time that the thread takes to get a core. One that has been given a timer keeps that.
//
// The maker starts it, where it is asked for; whoever asks may be in a thread's first steps.
// Rejected: a clock of perf's as the timer (it takes no signal's place before it strikes, but does not run while the thread sleeps, and many
// systems do not grant it); the maker itself (it may wait for a lock of malloc's, which a ULT holds that only a tick lets run).
#include <pthread.h>
#include <signal.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>

#include "klt/klt.hpp"
#include "klt/own_signal.hpp"
#include "os/clock.hpp"
#include "os/futex.hpp"
#include "os/kernel_tid.hpp"
#include "os/kernel_timer.hpp"
#include "os/service_thread.hpp"
#include "preempt/preempt.hpp"
#include "worker/runtime.hpp"
#include "worker/spare_maker.hpp"

namespace weft::rt {
namespace {

enum State : uint32_t { kNone, kWanted, kStarting, kRuns };

constinit std::atomic<uint32_t> state{kNone};  // kWanted: the maker's; kStarting: its thread's; kRuns: whoever ends it
constinit std::atomic<bool> ends{false};
constinit FutexWord calls{0};
// The thread: until when it sleeps; kNever: it is looking, so whoever has a tick to be sent calls. 0: there is none to be called.
constinit std::atomic<uint64_t> next{0};
pthread_t metronome;

// The stand-in is the program's, or blocked there: there may be room next time.
constexpr uint64_t kAgainNs = 1'000'000;

void send_if_due(Klt* klt, void* earliest_arg) noexcept {
  auto& earliest = *static_cast<uint64_t*>(earliest_arg);
  uint64_t due = klt->beat.load(std::memory_order_seq_cst);
  if (due == kNever || !klt->lives()) return;
  // Another time meanwhile: that is looked at after its call.
  if (const uint64_t now = now_ns(); due <= now) {
    if (!klt->beat.compare_exchange_strong(due, kNever, std::memory_order_relaxed)) return;
    const int signal = preempt_settings.signal.load(std::memory_order_relaxed);
    if (own_signal_send(klt, signal, SI_TIMER) != Sent::kNothing) return;
    uint64_t none = kNever;
    due = now + kAgainNs;
    if (!klt->beat.compare_exchange_strong(none, due, std::memory_order_relaxed)) return;
  }
  earliest = std::min(earliest, due);
}

void* metronome_main(void*) noexcept {
  if (runtime.affinity_known) static_cast<void>(set_affinity(runtime.affinity, kernel_tid()));
  state.store(kRuns, std::memory_order_release);
  for (;;) {
    const uint32_t seen = calls.load(std::memory_order_acquire);
    if (ends.load(std::memory_order_acquire)) return nullptr;
    // Sequentially consistent, pairs with preempt_beat_set(): we see its time, or it sees ours, this one or the next.
    next.store(kNever, std::memory_order_seq_cst);
    uint64_t earliest = kNever;
    klts_lock();
    klt_for_each(send_if_due, &earliest);
    klts_unlock();
    next.store(earliest, std::memory_order_seq_cst);
    if (earliest == kNever) {
      futex_wait(calls, seen);
    } else {
      futex_wait_until(calls, seen, earliest);
    }
  }
}

void call() noexcept {
  calls.fetch_add(1, std::memory_order_release);
  futex_wake(calls, 1);
}

// While somebody is about to call exec() there are no new threads, either: then there is no need of one later.
bool start_thread() noexcept {
  constexpr timespec kLongerThanExec{.tv_sec = 0, .tv_nsec = 20'000'000};
  if (service_thread_start(metronome, metronome_main, nullptr) == 0) return true;
  nanosleep(&kLongerThanExec, nullptr);
  return service_thread_start(metronome, metronome_main, nullptr) == 0;
}

void tell_of_refusal() noexcept {
  static constexpr char kLine[] = "weft: the kernel grants no more timers (`ulimit -i`), and no thread that does without: ULTs that do not "
                                  "come back to Weft keep their worker\n";
  static_cast<void>(!write(STDERR_FILENO, kLine, sizeof kLine - 1));
}

}  // namespace

void preempt_beat_set(Klt* klt, uint64_t due) noexcept {
  klt->beat.store(due, std::memory_order_seq_cst);
  if (due < next.load(std::memory_order_seq_cst)) call();
}

void preempt_want_metronome() noexcept {
  uint32_t none = kNone;
  if (state.compare_exchange_strong(none, kWanted, std::memory_order_release)) spare_maker_look();
}

void preempt_start_metronome() noexcept {
  uint32_t wanted = kWanted;
  if (!state.compare_exchange_strong(wanted, kStarting, std::memory_order_acq_rel)) return;
  ends.store(false, std::memory_order_relaxed);
  if (start_thread()) return;
  state.store(kNone, std::memory_order_release);  // who is refused next asks again
  static constinit std::atomic<bool> told{false};
  if (!told.exchange(true, std::memory_order_relaxed)) tell_of_refusal();
}

bool preempt_metronome_is_starting() noexcept { return state.load(std::memory_order_acquire) == kStarting; }

void preempt_stop_metronome() noexcept {
  const uint32_t was = state.load(std::memory_order_acquire);
  if (was == kStarting || was == kRuns) {
    ends.store(true, std::memory_order_release);
    call();
    pthread_join(metronome, nullptr);
  }
  preempt_forget_metronome();
}

void preempt_forget_metronome() noexcept {
  next.store(0, std::memory_order_relaxed);
  state.store(kNone, std::memory_order_relaxed);
}

}  // namespace weft::rt
