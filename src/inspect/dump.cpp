// dump.cpp: the report. First the workers, each with what its KLT runs: a KLT stands still while it is looked at,
// so what is said of it belongs together. Then all other units, each from one copy of its descriptor: they
// may move on meanwhile, and a unit of which that was noticed is said to have.
#include "inspect/dump.hpp"

#include <sched.h>
#include <signal.h>
#include <unistd.h>

#include <cerrno>

#include "inspect/ask.hpp"
#include "inspect/layout.hpp"
#include "inspect/modules.hpp"
#include "inspect/unit_report.hpp"
#include "inspect/unwind.hpp"
#include "klt/klt.hpp"
#include "klt/no_preemption.hpp"
#include "os/kernel_tid.hpp"
#include "sanitizer_switch.hpp"
#include "worker/runtime.hpp"

namespace weft::rt {
namespace {

constexpr char kEnd[] = "\nweft: end of dump\n";

// Set while a report is written. Finalise waits for it, so that what a report reads stays there.
std::atomic<bool> busy{false};

struct Report {
  Text& out;
  const Registers& here;  // of the thread with `tid`, which is ours and cannot be asked
  int tid;
  bool signals = true;  // or it asks nobody by a signal
};

// The units that were shown with their worker.
struct Shown {
  const Unit* units[kMaxWorkers];
  unsigned count = 0;

  bool has(const Unit* unit) const noexcept {
    for (unsigned i = 0; i < count; ++i) {
      if (units[i] == unit) return true;
    }
    return false;
  }
};
Shown shown;

const char* words_for(Answer answer) noexcept {
  switch (answer) {
    case Answer::kGiven: break;
    case Answer::kNone: return "its KLT did not answer: it blocks the signal, or is stuck in the kernel";
    case Answer::kGone: return "its KLT has ended";
    case Answer::kNoSignal: return "its KLT cannot be asked: the program uses all real-time signals itself";
  }
  return "";
}

struct Sleeper {
  int tid;
  Registers registers;
};

bool still_asleep_there(const void* context) noexcept {
  const auto& before = *static_cast<const Sleeper*>(context);
  Registers now;
  return registers_of_sleeper(before.tid, now) && now.ip() == before.registers.ip() && now.sp() == before.registers.sp();
}

void show_sleeper(Text& out, int tid) noexcept {
  Sleeper sleeper{tid, {}};
  if (!registers_of_sleeper(tid, sleeper.registers)) {
    out << "  (its KLT runs, or the kernel does not tell where it sleeps)\n";
    return;
  }
  say_frames(out, sleeper.registers, still_asleep_there, &sleeper);
}

// Calls f() while the KLT stands still, and shows its frames.
template <class F>
void show_klt(Report& report, const Klt* klt, F&& f) noexcept {
  const int tid = klt->tid.load(std::memory_order_acquire);
  if (tid == report.tid) {
    f();
    say_frames(report.out, report.here, nullptr, nullptr);
    return;
  }
  if (!report.signals) {
    f();
    return show_sleeper(report.out, tid);
  }
  Registers registers;
  const Answer answer = ask_registers(tid, registers);
  f();
  if (answer == Answer::kGiven) {
    say_frames(report.out, registers, nullptr, nullptr);
    ask_release();
  } else {
    report.out << "  (" << words_for(answer) << ")\n";
  }
}

// ---- units --------------------------------------------------------------------------------------

void say_host(Text& out, const Unit* unit, const UnitCopy& copy) noexcept {
  if (copy->host == nullptr || copy->host == unit) return;
  out << ", on the stack of ";
  say_who(out, copy->host);
}

struct WhereSuspended {
  const Unit* unit;
  const UnitCopy& then;
};

bool still_suspended(const void* context) noexcept {
  const auto& where = *static_cast<const WhereSuspended*>(context);
  const UnitCopy now(where.unit);
  return now && now->state.load(std::memory_order_relaxed) == where.then->state.load(std::memory_order_relaxed) &&
         now->host == where.then->host && now->context.sp == where.then->context.sp &&
         now->context.ip == where.then->context.ip && now->context.bp == where.then->context.bp &&
         now->wait_since == where.then->wait_since;
}

// The KLT that the unit's frames run on, or sleep on in the kernel; null: none, its context is saved.
struct Search {
  const Unit* unit;
  const Klt* found;
};
const Klt* klt_of(const Unit* unit) noexcept {
  Search search{unit, nullptr};
  klt_for_each(
      [](Klt* klt, void* to) {
        auto* s = static_cast<Search*>(to);
        const bool runs = klt->current.load(std::memory_order_relaxed) == s->unit;
        const bool holds = klt->state.load(std::memory_order_acquire) == KltState::kCaptive &&
                           klt->held.load(std::memory_order_relaxed) == s->unit;
        if (runs || holds) s->found = klt;
      },
      &search);
  return search.found;
}

void show_suspended(Report& report, const Unit* unit, const UnitCopy& copy) noexcept {
  const Unit* host = copy->host;
  const Peek<Klt*> captive(host != nullptr ? &host->captive : nullptr);
  if (captive && *captive.get() != nullptr) {
    if (const Klt* klt = klt_of(unit)) {
      return show_klt(report, klt, [&] {
        report.out << ", on KLT " << klt->tid.load(std::memory_order_relaxed) << ", which sleeps in it\n";
      });
    }
  }
  report.out << "\n";
  const WhereSuspended where{unit, copy};
  say_frames(report.out, registers_of(copy->context), still_suspended, &where);
}

void show_running(Report& report, const Unit* unit) noexcept {
  const Klt* klt = klt_of(unit);
  if (klt == nullptr) {
    report.out << "; below a unit that it joins, which runs on its stack\n";
    return;
  }
  show_klt(report, klt, [&] { report.out << ", on KLT " << klt->tid.load(std::memory_order_relaxed) << "\n"; });
}

void show_unit(Report& report, const Unit* unit) noexcept {
  Text& out = report.out;
  const UnitCopy copy(unit);
  if (!copy) return;
  const auto state = copy->state.load(std::memory_order_relaxed);
  if (state == UnitState::kFree) return;
  out << "\n";
  say_who(out, unit, copy);
  out << ": " << unit_state_name(state);
  switch (state) {
    case UnitState::kFree: break;
    case UnitState::kTerminated:
    case UnitState::kForked: out << "\n"; break;
    case UnitState::kFresh:
      out << " in ";
      say_pool(out, copy);
      out << ", would run ";
      say_code(out, reinterpret_cast<uintptr_t>(copy->fn));
      out << "\n";
      break;
    case UnitState::kReady:
      out << ", home ";
      say_pool(out, copy);
      say_host(out, unit, copy);
      show_suspended(report, unit, copy);
      break;
    case UnitState::kBlocked:
      say_wait(out, copy);
      out << ", home ";
      say_pool(out, copy);
      say_host(out, unit, copy);
      show_suspended(report, unit, copy);
      break;
    case UnitState::kRunning:
    case UnitState::kInKernel:
      say_host(out, unit, copy);
      show_running(report, unit);
      break;
  }
}

void show_if_not_shown(Unit* unit, void* context) noexcept {
  if (!shown.has(unit)) show_unit(*static_cast<Report*>(context), unit);
}

// ---- workers ------------------------------------------------------------------------------------

void show_what_runs(Report& report, const Worker* worker, const Klt* klt) noexcept {
  show_klt(report, klt, [&] {
    const Unit* unit = klt->current.load(std::memory_order_relaxed);
    if (unit == nullptr) {
      report.out << ": in its scheduler\n";
      return;
    }
    const UnitCopy copy(unit);
    report.out << ": runs ";
    say_who(report.out, unit, copy);
    if (copy) say_host(report.out, unit, copy);
    report.out << "\n";
    if (worker->index < kMaxWorkers) shown.units[shown.count++] = unit;
  });
}

void show_worker(Report& report, const Worker* worker) noexcept {
  Text& out = report.out;
  const Klt* klt = worker->carrier.load(std::memory_order_acquire);
  out << "\nworker " << worker->index;
  if (const int cpu = worker->cpu.load(std::memory_order_relaxed); cpu >= 0) out << " (CPU " << cpu << ")";
  if (klt == nullptr) {
    out << ": stopped\n";
    return;
  }
  const int tid = klt->tid.load(std::memory_order_relaxed);
  if (tid == 0) {
    out << ": its KLT is only starting\n";
    return;
  }
  out << " on KLT " << tid;
  if (worker->suspended.load(std::memory_order_relaxed)) out << " (suspended)";
  if (worker->asleep.load(std::memory_order_acquire) != Sleep::kAwake) {
    out << ": asleep\n";
    return;
  }
  show_what_runs(report, worker, klt);
}

void show_workers(Report& report) noexcept {
  shown.count = 0;
  const unsigned slots = runtime.worker_slots.load(std::memory_order_acquire);
  for (unsigned i = 0; i < slots; ++i) {
    const Worker* worker = runtime.workers[i].load(std::memory_order_acquire);
    if (worker != nullptr) show_worker(report, worker);
  }
}

void say_what_lacks(Text& out) noexcept {
  if (!Peek<unsigned>(&shown.count)) {
    out << "weft: this process may not read its own memory: process_vm_readv() and /proc/self/mem are forbidden "
           "(by a filter of system calls?). So units cannot be shown\n";
  }
  if (const char* why = unwind_lacks()) {
    out << "weft: backtraces follow frame pointers, so they may leave out frames or end early: " << why << "\n";
  }
}

constinit std::atomic<AskForUnwinder> left_to{nullptr};  // null: nobody, it is ready

bool begin() noexcept {
  // Sequentially consistent, pairs with inspect_stop(): either we see that the runtime ends, or that sees us.
  if (busy.exchange(true, std::memory_order_seq_cst)) return false;
  if (AskForUnwinder ask = left_to.load(std::memory_order_relaxed)) unwind_await(ask);
  unwind_forget();
  symbols_forget();
  return true;
}

void end() noexcept { busy.store(false, std::memory_order_release); }

}  // namespace

namespace {

// Who writes a report is not preempted meanwhile, nor loses its worker: a thread that it asks waits for it, and may be the one that would carry the worker
// next. Not NoPreemption, which acts on a tick at its end: the caller may be a signal handler, on the alternate stack, or in a section.
class NotPreempted {
 public:
  NotPreempted() noexcept : on_klt_(klt_register_valid()) {
    if (on_klt_) klt_register_add32<kKltNoPreemption>(kStays);
  }
  NotPreempted(const NotPreempted&) = delete;
  NotPreempted& operator=(const NotPreempted&) = delete;
  ~NotPreempted() {
    if (!on_klt_) return;
    klt_register_add32<kKltNoPreemption>(0u - kStays);
    if (klt_is_inside(klt_self())) return;  // the section's end sees to it
    // Again: one that comes while the guard is up leaves a note, too.
    while (preempt_tick_waits()) {
      klt_register_store32<kKltGuard>(kGuardUp);
      preempt_later();
      klt_register_store32<kKltGuard>(kGuardDown);
    }
  }

 private:
  const bool on_klt_;
};

// show(report), while nobody else writes a report and the runtime stays.
template <class F>
int write_report(int fd, const Registers& here, F&& show) noexcept {
  if (!runtime.running.load(std::memory_order_seq_cst)) return WEFT_ERR_UNINITIALIZED;
  if (!begin()) return WEFT_ERR_BUSY;
  const int error = errno;
  bool written = false;
  {
    const NotPreempted through;
    if (runtime.running.load(std::memory_order_seq_cst)) {
      Text out(fd);
      Report report{out, here, kernel_tid()};
      show(report);
      written = out.flush();
    }
    end();
  }
  errno = error;
  return written ? WEFT_OK : WEFT_ERR_INVALID;
}

}  // namespace

int dump(int fd, const Registers& here) noexcept {
  return write_report(fd, here, [](Report& report) {
    report.out << "weft: dump of process " << getpid() << "\n";
    say_what_lacks(report.out);
    show_workers(report);
    unit_for_each(show_if_not_shown, &report);
    report.out << kEnd;
  });
}

bool dump_waiting(int fd, const char* sentence) noexcept {
  const Registers here = registers_here();
  if (!begin()) return false;
  Text out(fd);
  // Nobody has asked for this report: no system call of the program's ends early for it.
  Report report{out, here, kernel_tid(), false};
  out << "weft: " << sentence << "\n";
  say_what_lacks(out);
  const auto show = [](Unit* unit, void* context) {
    const UnitState state = unit_state(unit);
    const bool waits = state == UnitState::kBlocked || state == UnitState::kRunning || state == UnitState::kInKernel;
    if (waits) show_unit(*static_cast<Report*>(context), unit);
  };
  unit_for_each(show, &report);
  out << kEnd;
  out.flush();
  end();
  return true;
}

bool dump_stuck(int fd, const Worker* worker, const Unit* waits, const Unit* holds, const void* lock) noexcept {
  return write_report(fd, registers_here(), [=](Report& report) {
    Text& out = report.out;
    out << "weft: stuck: worker " << worker->index << " has not moved for 1 s. ";
    say_who(out, waits);
    out << " is not preempted, and waits in the kernel for the lock " << address(lock) << ", which ";
    if (holds != nullptr) {
      say_who(out, holds);
    } else {
      out << "one of those that are ready below";
    }
    out << " holds: that was preempted, and waits for this worker. Units that share a lock which is not Weft's must all be "
           "preempted by KLT-switching (weft_unit_attr_t::preemption), or none of them.\n";
    say_what_lacks(out);
    show_unit(report, waits);
    if (holds != nullptr) {
      show_unit(report, holds);
    } else {
      unit_for_each(
          [](Unit* unit, void* to) {
            if (unit_state(unit) == UnitState::kReady) show_unit(*static_cast<Report*>(to), unit);
          },
          &report);
    }
    out << kEnd;
  }) == WEFT_OK;
}

// ---- the signal that asks for one -----------------------------------------------------------------

namespace {

int dump_signal = 0;  // 0: none
constinit std::atomic<bool> is_left{false};  // by the next inspect_start(): a later one does without the front-end
struct sigaction before;

void on_signal(int, siginfo_t*, void* context) noexcept {
  dump(STDERR_FILENO, san::kSignalsComeLate ? registers_here() : registers_of(*static_cast<ucontext_t*>(context)));
}

}  // namespace

void inspect_leaves_unwinder(AskForUnwinder ask) noexcept {
  left_to.store(ask, std::memory_order_relaxed);
  is_left.store(true, std::memory_order_relaxed);
}

void inspect_start(const Options& options) noexcept {
  // Mentioned, so that it is linked into every program.
  asm volatile("" : : "r"(&weft_debug_layout));
  if (!is_left.exchange(false, std::memory_order_relaxed)) unwind_prepare();
  deadlock_forget();
  if (options.dump_signal == 0) return;
  struct sigaction ours{};
  ours.sa_sigaction = on_signal;
  ours.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_RESTART;
  sigemptyset(&ours.sa_mask);
  if (sigaction(options.dump_signal, &ours, &before) == 0) dump_signal = options.dump_signal;
}

void inspect_stop() noexcept {
  // Sequentially consistent, pairs with dump(): one that begins now sees that the runtime does not run.
  while (busy.load(std::memory_order_seq_cst)) sched_yield();
  ask_stop();
  if (dump_signal == 0) return;
  struct sigaction now;
  sigaction(dump_signal, nullptr, &now);
  // The program may have set its own since.
  if ((now.sa_flags & SA_SIGINFO) != 0 && now.sa_sigaction == on_signal) {
    sigaction(dump_signal, &before, nullptr);
  }
  dump_signal = 0;
}

void inspect_forget() noexcept {
  busy.store(false, std::memory_order_relaxed);
  ask_forget();
  deadlock_forget();
}

}  // namespace weft::rt

int weft_dump(int fd) { return weft::rt::dump(fd, weft::rt::registers_here()); }

int weft_dump_unit(int fd, weft_unit_t unit) {
  using namespace weft::rt;
  if (unit == nullptr) return WEFT_ERR_INVALID;
  const auto* const which = reinterpret_cast<const Unit*>(unit);
  return write_report(fd, registers_here(), [which](Report& report) { show_unit(report, which); });
}
