// proc_file.hpp: what the kernel tells in /proc and /sys, of a thread of the process and of the machine. Async-signal-safe; no thread is cancelled here.
//
// The program may close a file meanwhile (close_range(), as daemons do), and open one of its own under that number. So it is read once, not
// until it ends, which /dev/zero does not, as by sysconf(_SC_NPROCESSORS_ONLN); what is closed is looked at; and no ULT is preempted here.
#pragma once

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <cstring>

#include "arch/system_call.hpp"

namespace weft::rt {

// By bare calls: ThreadSanitizer takes a number for a piece of memory, and that it is another file's by now for a race.
inline bool file_status(int fd, struct stat& status) noexcept {
  return system_call(SYS_fstat, fd, reinterpret_cast<long>(&status), 0, 0) == 0;
}
inline bool file_status(const char* path, struct stat& status) noexcept {
  return system_call(SYS_stat, reinterpret_cast<long>(path), reinterpret_cast<long>(&status), 0, 0) == 0;
}

// Whether that is the number of this file. By the file, not by the kind of its system: containers have their own for some (lxcfs).
inline bool is_file(int fd, const struct stat& file) noexcept {
  struct stat now;
  return file_status(fd, now) && now.st_dev == file.st_dev && now.st_ino == file.st_ino;
}

// The first 4 KiB of a file; empty: it cannot be read.
struct ProcFile {
  char text[4096] = {};
  explicit ProcFile(const char* path) noexcept {
    const int error = errno;
    if (const long fd = syscall(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC); fd >= 0) {
      struct stat file;
      if (syscall(SYS_read, fd, text, sizeof text - 1) < 0) text[0] = '\0';
      if (!file_status(path, file) || is_file(static_cast<int>(fd), file)) syscall(SYS_close, fd);
    }
    errno = error;
  }
};

// Of /proc/self/task/<tid>.
inline ProcFile task_file(int tid, const char* name) noexcept {
  char path[64] = "/proc/self/task/";
  char digits[16];
  int count = 0;
  for (; tid > 0; tid /= 10) digits[count++] = static_cast<char>('0' + tid % 10);
  char* end = path + std::strlen(path);
  while (count > 0) *end++ = digits[--count];
  *end++ = '/';
  std::strcpy(end, name);
  return ProcFile(path);
}

// "SigBlk:\t0000000000000200"; none: unknown.
inline uint64_t signals_of(int tid, const char* which) noexcept {
  const ProcFile status = task_file(tid, "status");
  const char* set = std::strstr(status.text, which);
  return set != nullptr ? std::strtoull(set + std::strlen(which), nullptr, 16) : 0;
}
inline bool has_blocked_of(uint64_t signals, int tid) noexcept { return (signals_of(tid, "SigBlk:") & signals) != 0; }
// Of the thread alone, not what the process has been sent.
inline uint64_t pending_of(int tid) noexcept { return signals_of(tid, "SigPnd:"); }

// How many threads of the whole machine run or would, the caller among them; 0: unknown. "0.20 0.18 0.12 3/80 11206"
inline unsigned long runnable_threads() noexcept {
  const ProcFile load("/proc/loadavg");
  const char* field = load.text;
  for (int i = 0; i < 3 && field != nullptr; ++i) {
    field = std::strchr(field, ' ');
    if (field != nullptr) ++field;
  }
  return field != nullptr ? std::strtoul(field, nullptr, 10) : 0;
}

// How long all its CPUs together have had nothing to run, in hundredths of a second; 0: unknown. "43932.33 83213.07"
inline uint64_t idle_of_machine() noexcept {
  const ProcFile uptime("/proc/uptime");
  const char* field = std::strchr(uptime.text, ' ');
  if (field == nullptr) return 0;
  char* end = nullptr;
  const uint64_t seconds = std::strtoull(field + 1, &end, 10);
  return seconds * 100 + (*end == '.' ? std::strtoull(end + 1, nullptr, 10) : 0);
}

// How many CPUs the machine has; 0: unknown. "0-3,6"
inline unsigned long online_cpus() noexcept {
  const ProcFile online("/sys/devices/system/cpu/online");
  unsigned long count = 0;
  for (const char* range = online.text; *range >= '0' && *range <= '9';) {
    char* end = nullptr;
    const unsigned long first = std::strtoul(range, &end, 10);
    const unsigned long last = *end == '-' ? std::strtoul(end + 1, &end, 10) : first;
    count += last - first + 1;
    range = *end == ',' ? end + 1 : end;
  }
  return count;
}

}  // namespace weft::rt
