// stuck.cpp: the paper's deadlock (3.5.3): a ULT that is not preempted waits in the kernel for a lock that is not Weft's, and
// whoever holds the lock was preempted and waits for the same worker.
//
// A tick that finds a ULT which is left alone, beside others that wait, for a second, has the maker's thread look: that
// may open files, and is not what is stuck. What it says is true: the lock names its owner, and that one waits.
#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cinttypes>
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

// The futex that the thread sleeps in; null: it does something else, or we may not know.
const char* futex_of(int tid) noexcept {
  char text[128];
  std::snprintf(text, sizeof text, "/proc/self/task/%d/syscall", tid);
  const int fd = open(text, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return nullptr;
  const ssize_t bytes = read(fd, text, sizeof text - 1);
  close(fd);
  if (bytes <= 0) return nullptr;
  text[bytes] = '\0';
  long number = -1;
  uintptr_t address = 0;
  if (std::sscanf(text, "%ld 0x%" SCNxPTR, &number, &address) != 2 || number != SYS_futex) return nullptr;
  return reinterpret_cast<const char*>(address);
}

// As the C library lays out a mutex; of what else a futex may be part of, this number names none of our KLTs.
struct Mutex {
  int lock;
  unsigned count;
  int owner;
};

// Who sleeps, preempted, in the KLT of that number.
struct Holder {
  int tid;
  const Unit* unit;
};
const Unit* captive_of(int tid) noexcept {
  Holder holder{tid, nullptr};
  klt_for_each(
      [](Klt* klt, void* context) {
        auto* h = static_cast<Holder*>(context);
        const bool captive = klt->state.load(std::memory_order_acquire) == KltState::kCaptive;
        if (captive && klt->tid.load(std::memory_order_relaxed) == h->tid) {
          h->unit = klt->held.load(std::memory_order_acquire);
        }
      },
      &holder);
  return holder.unit != nullptr && unit_state(holder.unit) == UnitState::kReady ? holder.unit : nullptr;
}

// True: it has been said.
bool look_at(const Worker* worker) noexcept {
  const uint64_t progress = preempt_progress(worker);
  const Klt* klt = worker->carrier.load(std::memory_order_acquire);
  if (klt == nullptr) return false;
  const Unit* waits = klt->current.load(std::memory_order_relaxed);
  const int tid = klt->tid.load(std::memory_order_relaxed);
  const char* futex = futex_of(tid);
  const Peek<Mutex> mutex(reinterpret_cast<const Mutex*>(futex));
  if (!mutex || waits == nullptr) return false;
  const Unit* holds = captive_of(mutex->owner);
  // Preempted by signal-yield it has left its KLT's number in the lock, where the one that waits runs now.
  const bool own = mutex->owner == tid;
  if ((holds == nullptr && !own) || preempt_progress(worker) != progress) return false;
  return dump_stuck(STDERR_FILENO, worker, waits, holds, futex);
}

}  // namespace

void preempt_left_alone(Worker* worker) noexcept {
  PreemptClock& clock = worker->preempt;
  const uint64_t now = now_ns(), progress = preempt_progress(worker);
  if (clock.alone_progress.load(std::memory_order_relaxed) != progress) {
    clock.alone_progress.store(progress, std::memory_order_relaxed);
    clock.alone_since.store(now, std::memory_order_relaxed);
  } else if (now - clock.alone_since.load(std::memory_order_relaxed) >= kLongNs) {
    clock.alone_since.store(now - kLongNs / 2, std::memory_order_relaxed);  // and again, if nothing is found
    clock.stuck.store(true, std::memory_order_relaxed);
    spare_maker_look();
  }
}

void preempt_look_for_stuck() noexcept {
  const unsigned slots = runtime.worker_slots.load(std::memory_order_acquire);
  for (unsigned i = 0; i < slots; ++i) {
    Worker* worker = runtime.workers[i].load(std::memory_order_acquire);
    if (worker == nullptr || !worker->preempt.stuck.exchange(false, std::memory_order_relaxed)) continue;
    if (!told.load(std::memory_order_relaxed) && look_at(worker)) told.store(true, std::memory_order_relaxed);
  }
}

void preempt_forget_stuck() noexcept { told.store(false, std::memory_order_relaxed); }

}  // namespace weft::rt
