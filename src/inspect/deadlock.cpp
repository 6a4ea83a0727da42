// deadlock.cpp: all units wait, and nothing is left that could wake one. Why that is true when it is said, also
// while everything moves: README.md, "A deadlock".
//
// Nothing is done for this while any worker is awake, and an idle program is looked at less and less often.
#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>

#include "inspect/dump.hpp"
#include "klt/kernel_sleep.hpp"
#include "klt/klt.hpp"
#include "sanitizer_switch.hpp"
#include "worker/runtime.hpp"
#include "worker/spare_maker.hpp"
#include "worker/timers.hpp"

namespace weft::rt {
namespace {

constexpr char kSentence[] =
    "deadlock: every unit waits, and there is no deadline, no thread but Weft's own, and nothing in the kernel that "
    "could wake one. What waits:";
std::atomic<bool> told{false};

constexpr uint64_t kLongestPauseNs = uint64_t{64} * 1'000'000'000;

// The record as the kernel writes it.
struct Entry {
  uint64_t inode;
  int64_t offset;
  uint16_t length;
  uint8_t type;
  char name[];
};

struct Known {
  int tid;
  bool found;
};

bool is_klt(int tid) noexcept {
  Known known{tid, false};
  klt_for_each(
      [](Klt* klt, void* context) {
        auto* k = static_cast<Known*>(context);
        const bool lives = klt->state.load(std::memory_order_acquire) != KltState::kStopping;
        if (lives && klt->tid.load(std::memory_order_acquire) == k->tid) k->found = true;
      },
      &known);
  return known.found;
}

unsigned foreign_among(const char* records, size_t bytes) noexcept {
  unsigned foreign = 0;
  for (size_t at = 0; at < bytes;) {
    const auto* entry = reinterpret_cast<const Entry*>(records + at);
    at += entry->length;
    const int tid = std::atoi(entry->name);
    if (tid > 0 && !is_klt(tid) && !is_spare_maker(tid) && !block_is_scout(tid)) ++foreign;
  }
  return foreign;
}

// Threads of this process that are not Weft's. Without /proc: one, which may be there.
unsigned foreign_threads() noexcept {
  const int fd = open("/proc/self/task", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return 1;
  alignas(Entry) char records[2048];
  unsigned foreign = 0;
  long n;
  while ((n = syscall(SYS_getdents64, fd, records, sizeof records)) > 0) {
    foreign += foreign_among(records, static_cast<size_t>(n));
  }
  close(fd);
  if (n < 0) return 1;
  return foreign > san::kOwnThreads ? foreign - san::kOwnThreads : 0;
}

struct Units {
  unsigned waiting = 0;
  bool others = false;  // some that may go on by themselves
};

void count_unit(Unit* unit, void* to) noexcept {
  auto* units = static_cast<Units*>(to);
  switch (unit_state(unit)) {
    case UnitState::kFree:
    case UnitState::kTerminated:
    case UnitState::kForked: break;
    case UnitState::kRunning: break;  // joins one that waits on the same stack: no worker runs anything
    case UnitState::kBlocked:
      if (static_cast<WaitKind>(unit->slot.load(std::memory_order_relaxed)) != WaitKind::kIdleSched) {
        ++units->waiting;
      }
      break;
    case UnitState::kFresh:
    case UnitState::kReady:
    case UnitState::kInKernel: units->others = true; break;
  }
}

// 0: a worker is awake, is being woken, or looks round for the last time before it sleeps. Otherwise a number
// that is another one as soon as any of them has woken.
uint64_t all_nap() noexcept {
  uint64_t sum = 0;
  const unsigned slots = runtime.worker_slots.load(std::memory_order_acquire);
  for (unsigned i = 0; i < slots; ++i) {
    const Worker* worker = runtime.workers[i].load(std::memory_order_acquire);
    if (worker == nullptr) continue;
    const WorkerState state = worker->state.load(std::memory_order_acquire);
    if (state == WorkerState::kNew || state == WorkerState::kStopped) continue;
    // Acquire, pairs with the release where it begins to nap.
    const uint64_t nap = worker->nap.load(std::memory_order_acquire);
    if (nap % 2 == 0 || worker->asleep.load(std::memory_order_seq_cst) == Sleep::kAwake) return 0;
    sum += nap;
  }
  return sum;
}

bool is_deadlock() noexcept {
  const uint64_t before = all_nap();
  if (before == 0 || timers_pending()) return false;
  Units units;
  unit_for_each(count_unit, &units);
  return units.waiting > 0 && !units.others && foreign_threads() == 0 && all_nap() == before;
}

}  // namespace

uint64_t all_asleep(uint64_t slept_ns) noexcept {
  const uint64_t pause = std::min(2 * slept_ns, kLongestPauseNs);
  if (!runtime_running() || !is_deadlock()) return pause;
  // A dump that somebody has asked for comes first. Of two that watch one is told so too, and looks again.
  const bool written = told.load(std::memory_order_acquire) || dump_waiting(STDERR_FILENO, kSentence);
  if (!written) return pause;
  told.store(true, std::memory_order_release);  // pairs with the acquire above: one report is enough
  return 0;
}

void deadlock_forget() noexcept { told.store(false, std::memory_order_relaxed); }

}  // namespace weft::rt
