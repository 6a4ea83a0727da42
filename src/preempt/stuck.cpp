// stuck.cpp: the paper's deadlock (3.5.3): a ULT that is not preempted waits in the kernel for a lock that is not Weft's, and
// whoever holds the lock was preempted and waits for the same worker.
//
// A tick that finds a ULT which is left alone in the same futex, beside others that wait, for a second, has the maker's
// thread look: a report takes long. What it says is true: the lock names its owner, and that one waits. Half a second later the others get the worker. The
// maker may not have looked by then: it waits for the same lock, say.
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdio>

#include "inspect/dump.hpp"
#include "os/clock.hpp"
#include "os/peek.hpp"
#include "preempt/preempt.hpp"
#include "worker/runtime.hpp"
#include "worker/spare_maker.hpp"
#include "worker/worker.hpp"

namespace weft::rt {
namespace {

constexpr uint64_t kLongNs = 1'000'000'000;
std::atomic<bool> told{false};

// As the C library lays out a mutex; of what else a futex may be part of, this number names none of our KLTs.
struct Mutex {
  int lock;
  unsigned count;
  int owner;
};

// The KLT whose number is in the lock.
struct Holder {
  int tid;
  const Unit* unit = nullptr;  // sleeps in it, preempted
  bool spare = false;          // nobody runs there: who has locked was preempted by signal-yield, and has left the number behind
};
Holder holder_of(int tid) noexcept {
  Holder holder{tid};
  klt_for_each(
      [](Klt* klt, void* context) {
        auto* h = static_cast<Holder*>(context);
        if (klt->tid.load(std::memory_order_relaxed) != h->tid) return;
        const KltState state = klt->state.load(std::memory_order_acquire);
        h->spare = state == KltState::kSpare;
        if (state == KltState::kCaptive) h->unit = klt->held.load(std::memory_order_acquire);
      },
      &holder);
  if (holder.unit != nullptr && unit_state(holder.unit) != UnitState::kReady) holder.unit = nullptr;
  return holder;
}

// What one that runs on this KLT waits for, if its holder waits for that one's worker.
struct Deadlock {
  bool is = false;
  const Unit* holds = nullptr;  // null: one of those that are ready
};
Deadlock deadlock_at(const void* futex, const Klt* waits) noexcept {
  const Peek<Mutex> mutex(static_cast<const Mutex*>(futex));
  if (!mutex) return {};
  const Holder holder = holder_of(mutex->owner);
  // Or the one that waits runs there now.
  const bool left_behind = holder.spare || mutex->owner == waits->tid.load(std::memory_order_relaxed);
  return {holder.unit != nullptr || left_behind, holder.unit};
}

// True: it has been said.
bool look_at(const Worker* worker) noexcept {
  const uint64_t progress = worker->stats.begun();
  const Klt* klt = worker->carrier.load(std::memory_order_acquire);
  if (klt == nullptr) return false;
  const Unit* waits = klt->current.load(std::memory_order_relaxed);
  if (waits == nullptr) return false;
  const void* futex = worker->preempt.alone_at.load(std::memory_order_relaxed);
  const Deadlock deadlock = deadlock_at(futex, klt);
  if (!deadlock.is || worker->stats.begun() != progress) return false;
  return dump_stuck(STDERR_FILENO, worker, waits, deadlock.holds, futex);
}

// True: it has been said.
bool tell_of_unstuck(const Worker* worker) noexcept {
  char line[512];
  const int length = std::snprintf(
      line, sizeof line,
      "weft: worker %u stood still for 1.5 s: a ULT that is not preempted waited in the kernel for a lock, which one held that had been preempted, and "
      "waited for this worker; it was given to that one. Units that share a lock which is not Weft's must all be preempted by KLT-switching "
      "(weft_unit_attr_t::preemption), or none of them.\n",
      worker->index);
  return write(STDERR_FILENO, line, static_cast<size_t>(length)) > 0;
}

}  // namespace

// A system call that goes on afterwards has its number and its arguments in the registers again, and the instruction pointer before it.
const void* preempt_futex_of(const ucontext_t* frame) noexcept {
  const auto& registers = frame->uc_mcontext.gregs;
  if (registers[REG_RAX] != SYS_futex) return nullptr;
  const auto* code = reinterpret_cast<const unsigned char*>(registers[REG_RIP]);
  const bool is_syscall = code[0] == 0x0f && code[1] == 0x05;
  return is_syscall ? reinterpret_cast<const void*>(registers[REG_RDI]) : nullptr;
}

bool preempt_left_alone(Worker* worker, const ucontext_t* frame) noexcept {
  PreemptClock& clock = worker->preempt;
  const void* futex = frame != nullptr ? preempt_futex_of(frame) : nullptr;
  const uint64_t now = now_ns(), progress = worker->stats.begun();
  if (clock.alone_progress.load(std::memory_order_relaxed) != progress ||
      clock.alone_at.load(std::memory_order_relaxed) != futex) {
    clock.alone_progress.store(progress, std::memory_order_relaxed);
    clock.alone_at.store(futex, std::memory_order_relaxed);
    clock.alone_since.store(now, std::memory_order_relaxed);
    clock.alone_asked.store(0, std::memory_order_relaxed);
    return false;
  }
  if (futex == nullptr || now - clock.alone_since.load(std::memory_order_relaxed) < kLongNs) return false;
  clock.alone_since.store(now - kLongNs / 2, std::memory_order_relaxed);  // and again
  const bool gives = clock.alone_asked.fetch_add(1, std::memory_order_relaxed) != 0 && deadlock_at(futex, klt_self()).is;
  (gives ? clock.unstuck : clock.stuck).store(true, std::memory_order_relaxed);
  spare_maker_look();
  return gives;
}

void preempt_look_for_stuck() noexcept {
  const unsigned slots = runtime.worker_slots.load(std::memory_order_acquire);
  for (unsigned i = 0; i < slots; ++i) {
    Worker* worker = runtime.workers[i].load(std::memory_order_acquire);
    if (worker == nullptr) continue;
    const bool stuck = worker->preempt.stuck.exchange(false, std::memory_order_relaxed);
    const bool unstuck = worker->preempt.unstuck.exchange(false, std::memory_order_relaxed);
    if (told.load(std::memory_order_relaxed)) continue;
    if ((stuck && look_at(worker)) || (unstuck && tell_of_unstuck(worker))) told.store(true, std::memory_order_relaxed);
  }
}

void preempt_forget_stuck() noexcept { told.store(false, std::memory_order_relaxed); }

}  // namespace weft::rt
