// watch.cpp: see watch.hpp. All system calls are as they are: none takes a lock of the C library's.
#include "block/watch.hpp"

#include <fcntl.h>
#include <linux/perf_event.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstring>

#include "block/block.hpp"
#include "block/bpf_rung.hpp"
#include "klt/own_signal.hpp"
#include "os/clock.hpp"
#include "os/kernel_timer.hpp"
#include "unit/stack_map.hpp"

namespace weft::rt {
namespace {

constexpr size_t kRingBytes = 4096;
// How long who has come back may run, at least. Less strikes in the kernel still, on a slow machine time and again: at 20 µs four
// times for each return, each of which costs 15 µs there.
constexpr uint64_t kGraceNs = 50'000;
// Where it comes for less than that each time, and may stay. Each visit starts and ends a timer of the kernel's, and one that comes before the
// kernel's next tick has to be set in the hardware: some 6 µs each in a virtual machine, more than the change of the thread.
constexpr uint64_t kGraceOfMoments = 16'000'000;

// A switch record: its header, and when.
struct Record {
  perf_event_header header;
  uint64_t time;
};
static_assert(sizeof(Record) == 16 && kRingBytes % sizeof(Record) == 0);

int open_event(const perf_event_attr& attr, int tid) noexcept {
  return static_cast<int>(syscall(SYS_perf_event_open, &attr, tid, -1, -1, PERF_FLAG_FD_CLOEXEC));
}

perf_event_attr user_only(uint64_t config) noexcept {
  perf_event_attr attr{};
  attr.size = sizeof attr;
  attr.type = PERF_TYPE_SOFTWARE;
  attr.config = config;
  attr.exclude_kernel = 1;
  attr.exclude_hv = 1;
  return attr;
}

// Records when the thread leaves its core, and when it gets one. Nobody is woken by that.
int open_switches(int tid) noexcept {
  perf_event_attr attr = user_only(PERF_COUNT_SW_DUMMY);
  attr.context_switch = 1;
  attr.sample_id_all = 1;
  attr.sample_type = PERF_SAMPLE_TIME;
  attr.use_clockid = 1;
  attr.clockid = CLOCK_MONOTONIC;
  attr.watermark = 1;
  attr.wakeup_watermark = kRingBytes;
  return open_event(attr, tid);
}

// Mapped for reading only: the kernel overwrites the oldest, and waits for nobody. The mapping keeps the event alive.
// In the place of an earlier one, at which somebody may be looking.
const char* map_ring(int fd, const char* place) noexcept {
  const int flags = MAP_SHARED | (place != nullptr ? MAP_FIXED : 0);
  void* ring = mmap(const_cast<char*>(place), kPage + kRingBytes, PROT_READ, flags, fd, 0);
  return ring == MAP_FAILED ? nullptr : static_cast<const char*>(ring);
}

// A clock that runs while the thread does; in the kernel it does not strike.
int open_stop(int tid, int signal) noexcept {
  perf_event_attr attr = user_only(PERF_COUNT_SW_TASK_CLOCK);
  attr.sample_period = kGraceNs;
  attr.wakeup_events = 1;
  attr.disabled = 1;
  const int fd = open_event(attr, tid);
  if (fd < 0) return -1;
  const f_owner_ex owner{F_OWNER_TID, tid};
  if (fcntl(fd, F_SETFL, O_ASYNC) == 0 && fcntl(fd, F_SETSIG, signal) == 0 && fcntl(fd, F_SETOWN_EX, &owner) == 0) {
    return fd;
  }
  close(fd);
  return -1;
}

// Another process of the user's may take it the next moment.
bool one_can_be_queued(int tid, int signal) noexcept {
  const int timer = kernel_timer_create(tid, signal);
  if (timer != kNoTimer) kernel_timer_delete(timer);
  return timer != kNoTimer;
}

int open_stat(int tid) noexcept {
  char path[64];
  std::snprintf(path, sizeof path, "/proc/self/task/%d/stat", tid);
  return open(path, O_RDONLY | O_CLOEXEC);
}

uint64_t event_of(int fd) noexcept {
  uint64_t event = 0;
  return ioctl(fd, PERF_EVENT_IOC_ID, &event) == 0 ? event : 0;
}

void keep(KeptFile& file, int fd) noexcept {
  struct stat status{};
  if (fstat(fd, &status) != 0) status = {};
  file.device.store(status.st_dev, std::memory_order_relaxed);
  file.inode.store(status.st_ino, std::memory_order_relaxed);
  file.event.store(event_of(fd), std::memory_order_relaxed);
  // Release, pairs with the acquire of ours(). Who looks meanwhile may take it for not ours, once.
  file.fd.store(fd, std::memory_order_release);
}

// Its number; -1: there is none, or the program has closed it (close_range(), as daemons do), and whatever has that number is not ours.
// Nobody's device is asked for an event's number: the inode is another one then.
int ours(const KeptFile& file) noexcept {
  const int fd = file.fd.load(std::memory_order_acquire);
  struct stat status{};
  if (fd < 0 || fstat(fd, &status) != 0) return -1;
  const bool same = status.st_dev == file.device.load(std::memory_order_relaxed) &&
                    status.st_ino == file.inode.load(std::memory_order_relaxed);
  const uint64_t event = file.event.load(std::memory_order_relaxed);
  return same && (event == 0 || event_of(fd) == event) ? fd : -1;
}

// The same of an event, by one call instead of two, for who is about to ask it for something by another ioctl().
int our_event(const KeptFile& file) noexcept {
  const int fd = file.fd.load(std::memory_order_acquire);
  return fd >= 0 && event_of(fd) == file.event.load(std::memory_order_relaxed) ? fd : -1;
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

struct Switch {
  uint16_t misc;
  uint64_t time;
};

// The one that ends there.
Switch read_switch(const char* ring, uint64_t end) noexcept {
  const auto* record = reinterpret_cast<const Record*>(ring + kPage + (end - sizeof(Record)) % kRingBytes);
  return {__atomic_load_n(&record->header.misc, __ATOMIC_RELAXED), __atomic_load_n(&record->time, __ATOMIC_RELAXED)};
}

uint64_t head_of(const char* ring) noexcept {
  // Acquire, pairs with the kernel's release: the records are whole.
  return __atomic_load_n(&reinterpret_cast<const perf_event_mmap_page*>(ring)->data_head, __ATOMIC_ACQUIRE);
}

// Whether what has been read of the last n records before that head may have been overwritten meanwhile.
bool overwritten(const char* ring, uint64_t head, unsigned n) noexcept {
  std::atomic_thread_fence(std::memory_order_acquire);
  return head_of(ring) - head >= kRingBytes - n * sizeof(Record);
}

Sight look_at_ring(const char* ring) noexcept {
  for (;;) {
    const uint64_t head = head_of(ring);
    if (head == 0) return {};
    const Switch last = read_switch(ring, head);
    if (!overwritten(ring, head, 1)) return {(last.misc & (kOut | kPreempted)) == kOut, last.time, head};
  }
}

// Each of the last few times that the thread had its core it was there for moments only.
bool comes_for_moments(const char* ring) noexcept {
  constexpr unsigned kTimes = 4;
  uint64_t head = head_of(ring);
  if (head < (2 * kTimes + 1) * sizeof(Record)) return false;
  if ((read_switch(ring, head).misc & kOut) == 0) head -= sizeof(Record);  // it is there
  uint64_t end = head;
  for (unsigned i = 0; i < kTimes; ++i, end -= 2 * sizeof(Record)) {
    const Switch out = read_switch(ring, end), in = read_switch(ring, end - sizeof(Record));
    if ((out.misc & kOut) == 0 || (in.misc & kOut) != 0 || out.time - in.time >= kGraceNs) return false;
  }
  return !overwritten(ring, head, 2 * kTimes);
}

void drop(KltWatch& watch) noexcept {
  watch.ring.store(nullptr, std::memory_order_relaxed);
  if (watch.mapping != nullptr) munmap(const_cast<char*>(watch.mapping), kPage + kRingBytes);
  watch.mapping = nullptr;
  bpf_forget(watch);
  let_go(watch.stop);
  let_go(watch.stat);
  watch.opened.store(false, std::memory_order_relaxed);
}

// "1234 (any ) name) S 1 …"
Sight look_at_stat(int fd) noexcept {
  char text[128];
  const ssize_t bytes = pread(fd, text, sizeof text - 1, 0);
  if (bytes <= 0) return {};
  text[bytes] = '\0';
  const char* name_end = std::strrchr(text, ')');
  return {name_end != nullptr && (name_end[2] == 'S' || name_end[2] == 'D'), 0, 0};
}

bool granted(BlockRung rung) noexcept {
  const auto tid = static_cast<int>(syscall(SYS_gettid));
  KltWatch watch;
  if (rung == BlockRung::Perf) {
    put(watch.stop, open_stop(tid, SIGRTMAX));
    const bool ok = watch.stop.fd.load(std::memory_order_relaxed) >= 0 && open_ring(watch, tid);
    drop(watch);
    return ok;
  }
  put(watch.stat, open_stat(tid));
  const bool ok = watch.stat.fd.load(std::memory_order_relaxed) >= 0;
  drop(watch);
  return ok;
}

}  // namespace

BlockRung watch_find_rung(BlockRung wish) noexcept {
  // Who has come back is stopped by an event of perf's in either case.
  const bool perf = wish != BlockRung::Proc && granted(BlockRung::Perf);
  if (perf && wish == BlockRung::Bpf && bpf_granted()) return BlockRung::Bpf;
  if (perf) return BlockRung::Perf;
  return granted(BlockRung::Proc) ? BlockRung::Proc : BlockRung::None;
}

WatchBegins::WatchBegins(bool wanted) noexcept {
  if (wanted) put(event_, open_switches(0));
}
WatchBegins::~WatchBegins() { let_go(event_); }

bool watch_open(Klt* klt, BlockRung rung, int signal) noexcept {
  KltWatch& watch = klt->watch;
  const int tid = klt->tid.load(std::memory_order_acquire);
  if (tid == 0 || watch.opened.exchange(true, std::memory_order_acq_rel)) return true;
  if ((rung == BlockRung::Bpf && bpf_watch(watch, tid)) || (rung != BlockRung::Proc && open_ring(watch, tid))) {
    put(watch.stop, open_stop(tid, signal));
    watch.grace.store(kGraceNs, std::memory_order_relaxed);
    // Others look at it, which may have slept before anything was recorded.
    if (tid != syscall(SYS_gettid)) put(watch.stat, open_stat(tid));
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
  if (const auto* state = klt->watch.state.load(std::memory_order_acquire)) {
    sight = bpf_look(*state);
  } else if (const char* ring = klt->watch.ring.load(std::memory_order_acquire)) {
    sight = look_at_ring(ring);
  }
  // Nothing is recorded: the thread has neither left its core nor got one since it was opened.
  if (sight.stamp != 0) return sight;
  const int fd = ours(klt->watch.stat);
  return fd >= 0 ? look_at_stat(fd) : Sight{};
}

namespace {

void set_grace(KltWatch& watch, int fd, uint64_t next) noexcept {
  if (next != watch.grace.load(std::memory_order_relaxed) && ioctl(fd, PERF_EVENT_IOC_PERIOD, &next) == 0) {
    watch.grace.store(next, std::memory_order_relaxed);
  }
}

// Where its signal cannot be queued the kernel sends SIGIO instead (send_sigio_to_task()). Where that is not ours it would call a handler
// of the program's for nothing, end its sigwait(), or end the process: then the ULT is stopped only if one can be queued, as far as is known.
bool may_strike(const Klt* klt) noexcept {
  return own_signal_stand_in(klt, kStandInOfDescriptors) != StandIn::kPrograms ||
         one_can_be_queued(klt->tid.load(std::memory_order_relaxed), block_settings.signal.load(std::memory_order_relaxed));
}

bool start_clock(const Klt* klt, int fd) noexcept { return may_strike(klt) && ioctl(fd, PERF_EVENT_IOC_REFRESH, 1) == 0; }

}  // namespace

bool watch_stop_when_back(Klt* klt) noexcept {
  KltWatch& watch = klt->watch;
  const int fd = our_event(watch.stop);
  if (fd < 0) return false;
  const char* ring = watch.ring.load(std::memory_order_acquire);
  if (ring != nullptr && comes_for_moments(ring)) {
    set_grace(watch, fd, kGraceOfMoments);
  } else if (watch.grace.load(std::memory_order_relaxed) == kGraceOfMoments) {
    set_grace(watch, fd, kGraceNs);
  }
  return start_clock(klt, fd);
}

bool watch_stop_at_once(Klt* klt) noexcept {
  const int fd = our_event(klt->watch.stop);
  if (fd < 0) return false;
  set_grace(klt->watch, fd, kGraceNs);
  return start_clock(klt, fd);
}

bool watch_comes_for_moments(const Klt* klt) noexcept {
  const char* ring = klt->watch.ring.load(std::memory_order_acquire);
  if (ring == nullptr || !comes_for_moments(ring)) return false;
  return now_ns() - look_at_ring(ring).since < kGraceNs;
}

void watch_do_not_stop(const Klt* klt) noexcept {
  const int fd = our_event(klt->watch.stop);
  if (fd >= 0) ioctl(fd, PERF_EVENT_IOC_DISABLE, 0);
}

void watch_set_grace(Klt* klt, bool longer, uint64_t most) noexcept {
  const uint64_t grace = klt->watch.grace.load(std::memory_order_relaxed);
  const uint64_t next = longer ? std::max(std::min(2 * grace, most), kGraceNs) : kGraceNs;
  const int fd = our_event(klt->watch.stop);
  if (fd >= 0) set_grace(klt->watch, fd, next);
}

}  // namespace weft::rt
