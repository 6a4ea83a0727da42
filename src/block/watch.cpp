// watch.cpp: see watch.hpp. All system calls are as they are: none takes a lock of the C library's.
#include "block/watch.hpp"

#include <fcntl.h>
#include <linux/perf_event.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstring>

#include "arch/system_call.hpp"
#include "block/bpf_rung.hpp"
#include "os/clock.hpp"
#include "os/cpu_yield.hpp"
#include "os/kernel_tid.hpp"
#include "os/proc_file.hpp"
#include "unit/stack_map.hpp"

namespace weft::rt {
namespace {

constexpr size_t kRingBytes = 4096;

// A switch record: its header, and when.
struct Record {
  perf_event_header header;
  uint64_t time;
};
static_assert(sizeof(Record) == 16 && kRingBytes % sizeof(Record) == 0);

// Records when the thread leaves its core, and when it gets one. Nobody is woken by that.
int open_switches(int tid) noexcept {
  perf_event_attr attr{};
  attr.size = sizeof attr;
  attr.type = PERF_TYPE_SOFTWARE;
  attr.config = PERF_COUNT_SW_DUMMY;
  attr.exclude_kernel = 1;
  attr.exclude_hv = 1;
  attr.context_switch = 1;
  attr.sample_id_all = 1;
  attr.sample_type = PERF_SAMPLE_TIME;
  attr.use_clockid = 1;
  attr.clockid = CLOCK_MONOTONIC;
  attr.watermark = 1;
  attr.wakeup_watermark = kRingBytes;
  return static_cast<int>(syscall(SYS_perf_event_open, &attr, tid, -1, -1, PERF_FLAG_FD_CLOEXEC));
}

// Mapped for reading only: the kernel overwrites the oldest, and waits for nobody. The mapping keeps the event alive.
// In the place of an earlier one, at which somebody may be looking.
const char* map_ring(int fd, const char* place) noexcept {
  const int flags = MAP_SHARED | (place != nullptr ? MAP_FIXED : 0);
  void* ring = mmap(const_cast<char*>(place), kPage + kRingBytes, PROT_READ, flags, fd, 0);
  return ring == MAP_FAILED ? nullptr : static_cast<const char*>(ring);
}

// The program has as many files as it may have open. It may have more for a moment, and what has been opened then stays open. Somebody else is
// at it: nothing is opened. The program sets the limit meanwhile: its own is set again.
int open_beyond_limit(const char* path) noexcept {
  static constinit std::atomic<bool> busy{false};
  if (busy.exchange(true, std::memory_order_acquire)) return -1;
  int fd = -1;
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < limit.rlim_max) {
    const rlimit raised{limit.rlim_max, limit.rlim_max};
    rlimit found{};
    if (prlimit(0, RLIMIT_NOFILE, &raised, &limit) == 0) {
      fd = open(path, O_RDONLY | O_CLOEXEC);
      prlimit(0, RLIMIT_NOFILE, &limit, &found);
      if (found.rlim_cur != raised.rlim_cur || found.rlim_max != raised.rlim_max) prlimit(0, RLIMIT_NOFILE, &found, nullptr);
    }
  }
  busy.store(false, std::memory_order_release);
  return fd;
}

bool too_many_are_open() noexcept { return errno == EMFILE || errno == ENFILE; }

constexpr int kFirstFile = 768;  // of 1024, most often

// Not one of the lowest numbers, which programs go by: they close 0, 1 or 2, and the file that they open next is to have that.
int open_stat(int tid) noexcept {
  char path[64];
  std::snprintf(path, sizeof path, "/proc/self/task/%d/stat", tid);
  const int low = open(path, O_RDONLY | O_CLOEXEC);
  if (low < 0) return errno == EMFILE ? open_beyond_limit(path) : -1;
  int high = fcntl(low, F_DUPFD_CLOEXEC, kFirstFile);
  if (high < 0) high = fcntl(low, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
  if (high < 0) return low;
  struct stat file;
  const bool ours = !file_status(path, file) || is_file(high, file);  // else the program's, which has got the low number
  if (ours && file_status(high, file) && is_file(low, file)) close(low);
  if (ours) return high;
  close(high);
  return -1;
}

void keep(KeptFile& file, int fd) noexcept {
  struct stat status{};
  if (fstat(fd, &status) != 0) status = {};
  file.device.store(status.st_dev, std::memory_order_relaxed);
  file.inode.store(status.st_ino, std::memory_order_relaxed);
  // Release, pairs with the acquire of ours(). Who looks meanwhile may take it for not ours, once.
  file.fd.store(fd, std::memory_order_release);
}

// As file_status().
long read_from_start(int fd, char* to, size_t bytes) noexcept {
  return system_call(SYS_pread64, fd, reinterpret_cast<long>(to), static_cast<long>(bytes), 0);
}

// Its number; -1: there is none, or the program has closed it (close_range(), as daemons do), and whatever has that number is not ours.
int ours(const KeptFile& file) noexcept {
  const int fd = file.fd.load(std::memory_order_acquire);
  struct stat status{};
  if (fd < 0 || !file_status(fd, status)) return -1;
  const bool same = status.st_dev == file.device.load(std::memory_order_relaxed) &&
                    status.st_ino == file.inode.load(std::memory_order_relaxed);
  return same ? fd : -1;
}

// In the place of an earlier one, at which somebody may be looking. Whoever still looks at a number that is the program's now finds that
// it is not ours.
void put(KeptFile& file, int fd) noexcept {
  if (fd < 0) return;
  const int old = ours(file);
  if (old < 0 || dup3(fd, old, O_CLOEXEC) < 0) return keep(file, fd);
  keep(file, old);
  close(fd);
}

void let_go(KeptFile& file) noexcept {
  const int fd = ours(file);
  file.fd.store(-1, std::memory_order_relaxed);
  if (fd >= 0) close(fd);
}

bool open_ring(KltWatch& watch, int tid) noexcept {
  const int fd = open_switches(tid);
  if (fd < 0) return false;
  const char* ring = map_ring(fd, watch.mapping);
  close(fd);
  if (ring == nullptr) return false;
  watch.mapping = ring;
  watch.ring.store(ring, std::memory_order_release);
  return true;
}

constexpr uint16_t kOut = PERF_RECORD_MISC_SWITCH_OUT, kPreempted = PERF_RECORD_MISC_SWITCH_OUT_PREEMPT;

uint64_t head_of(const char* ring) noexcept {
  // Acquire, pairs with the kernel's release: the records are whole.
  return __atomic_load_n(&reinterpret_cast<const perf_event_mmap_page*>(ring)->data_head, __ATOMIC_ACQUIRE);
}

Sight look_at_ring(const char* ring) noexcept {
  for (;;) {
    const uint64_t head = head_of(ring);
    if (head == 0) return {};
    const auto* record = reinterpret_cast<const Record*>(ring + kPage + (head - sizeof(Record)) % kRingBytes);
    const uint16_t misc = __atomic_load_n(&record->header.misc, __ATOMIC_RELAXED);
    const uint64_t since = __atomic_load_n(&record->time, __ATOMIC_RELAXED);
    std::atomic_thread_fence(std::memory_order_acquire);
    // It has not been overwritten meanwhile.
    if (head_of(ring) - head < kRingBytes - sizeof(Record)) return {(misc & (kOut | kPreempted)) == kOut, since, head};
  }
}

// While one lives nobody else opens or drops these files. Waits for no longer than it takes to open one: in a forked child whoever was at it is
// gone. False: somebody else is at it, or was.
class Opening {
 public:
  explicit Opening(const KltWatch& watch, unsigned tries = 1) noexcept : watch_(watch) {
    while (!(ours_ = !watch.opens_again.exchange(true, std::memory_order_acquire)) && --tries != 0) cpu_yield();
  }
  Opening(const Opening&) = delete;
  Opening& operator=(const Opening&) = delete;
  ~Opening() {
    if (ours_) watch_.opens_again.store(false, std::memory_order_release);
  }
  explicit operator bool() const noexcept { return ours_; }

 private:
  const KltWatch& watch_;
  bool ours_ = false;
};

void drop(KltWatch& watch) noexcept {
  constexpr unsigned kTries = 1000;
  const Opening alone(watch, kTries);
  watch.ring.store(nullptr, std::memory_order_relaxed);
  if (watch.mapping != nullptr) munmap(const_cast<char*>(watch.mapping), kPage + kRingBytes);
  watch.mapping = nullptr;
  bpf_forget(watch);
  let_go(watch.stat);
  watch.opened.store(false, std::memory_order_relaxed);
  if (!alone) watch.opens_again.store(false, std::memory_order_relaxed);  // whoever was at it
}

// "1234 (any ) name) S 1 …". One that sleeps uses no CPU time: how much it has used tells this time from any other.
Sight look_at_stat(int fd, int tid) noexcept {
  char text[128];
  const long bytes = read_from_start(fd, text, sizeof text - 1);
  if (bytes <= 0) return {};
  text[bytes] = '\0';
  const char* name_end = std::strrchr(text, ')');
  const bool asleep = name_end != nullptr && (name_end[2] == 'S' || name_end[2] == 'D');
  return {asleep, 0, asleep ? cpu_ns_of(tid) : 0};
}

// The program has closed it, or there were too many open files: now, maybe, there are not. -1: there still are, or somebody is at it.
int opened_again(const Klt* klt) noexcept {
  const KltWatch& watch = klt->watch;
  const Opening alone(watch);
  if (!alone || !watch.opened.load(std::memory_order_relaxed)) return -1;
  put(watch.stat, open_stat(klt->tid.load(std::memory_order_relaxed)));
  return ours(watch.stat);
}

bool granted(BlockRung rung) noexcept {
  const int tid = kernel_tid();
  KltWatch watch;
  if (rung == BlockRung::Perf) {
    const bool ok = open_ring(watch, tid);
    drop(watch);
    return ok;
  }
  const int fd = open_stat(tid);
  const bool ok = fd >= 0 || too_many_are_open();  // they are opened later
  put(watch.stat, fd);
  drop(watch);
  return ok;
}

}  // namespace

void watch_make_room() noexcept {
  const int any = open("/", O_PATH | O_CLOEXEC);
  if (any < 0) return;
  if (const int high = fcntl(any, F_DUPFD_CLOEXEC, kFirstFile); high >= 0) close(high);
  close(any);
}

BlockRung watch_find_rung(BlockRung wish) noexcept {
  const bool asked_for = wish == BlockRung::Bpf || wish == BlockRung::Perf;
  if (!asked_for && granted(BlockRung::Proc)) return BlockRung::Proc;
  if (granted(BlockRung::Perf)) return wish == BlockRung::Bpf && bpf_granted() ? BlockRung::Bpf : BlockRung::Perf;
  return asked_for && granted(BlockRung::Proc) ? BlockRung::Proc : BlockRung::None;
}

WatchBegins::WatchBegins(bool wanted) noexcept {
  if (wanted) put(event_, open_switches(0));
}
WatchBegins::~WatchBegins() { let_go(event_); }

bool watch_open(Klt* klt, BlockRung rung) noexcept {
  KltWatch& watch = klt->watch;
  const int tid = klt->tid.load(std::memory_order_acquire);
  const Opening alone(watch);
  if (!alone || tid == 0 || watch.opened.exchange(true, std::memory_order_acq_rel)) return true;
  if ((rung == BlockRung::Bpf && bpf_watch(watch, tid)) || (rung != BlockRung::Proc && open_ring(watch, tid))) {
    // Others look at it, which may have slept before anything was recorded.
    if (tid != kernel_tid()) put(watch.stat, open_stat(tid));
    return true;
  }
  // Too many open files, or no more memory may be locked: this one is seen by way of /proc.
  watch.ring.store(nullptr, std::memory_order_relaxed);
  const int fd = open_stat(tid);
  put(watch.stat, fd);
  return fd >= 0;
}

void watch_thread_ends(Klt* klt) noexcept { bpf_thread_ends(klt->watch); }

void watch_reopen(Klt* klt) noexcept { klt->watch.opened.store(false, std::memory_order_relaxed); }

void watch_close(Klt* klt, bool mapped) noexcept {
  if (!mapped) klt->watch.mapping = nullptr;
  drop(klt->watch);
}

Sight watch_look(const Klt* klt) noexcept {
  Sight sight;
  bool recorded = true;
  if (const auto* state = klt->watch.state.load(std::memory_order_acquire)) {
    sight = bpf_look(*state);
  } else if (const char* ring = klt->watch.ring.load(std::memory_order_acquire)) {
    sight = look_at_ring(ring);
  } else {
    recorded = false;
  }
  // Nothing is recorded: the thread has neither left its core nor got one since it was opened.
  if (sight.stamp != 0) return sight;
  int fd = ours(klt->watch.stat);
  if (fd < 0 && !recorded) fd = opened_again(klt);
  return fd >= 0 ? look_at_stat(fd, klt->tid.load(std::memory_order_relaxed)) : Sight{};
}

}  // namespace weft::rt
