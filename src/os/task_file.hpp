// task_file.hpp: what the kernel tells of a thread of the process in /proc. Async-signal-safe.
#pragma once

#include <fcntl.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>

namespace weft::rt {

// A file of /proc/self/task/<tid>; empty: it cannot be read.
struct TaskFile {
  char text[4096] = {};
  TaskFile(int tid, const char* name) noexcept {
    char path[64] = "/proc/self/task/";
    char digits[16];
    int count = 0;
    for (; tid > 0; tid /= 10) digits[count++] = static_cast<char>('0' + tid % 10);
    char* end = path + std::strlen(path);
    while (count > 0) *end++ = digits[--count];
    *end++ = '/';
    std::strcpy(end, name);
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) return;
    if (read(fd, text, sizeof text - 1) < 0) text[0] = '\0';
    close(fd);
  }
};

// "SigBlk:\t0000000000000200"
inline bool has_blocked_of(uint64_t signals, int tid) noexcept {
  const TaskFile status(tid, "status");
  const char* mask = std::strstr(status.text, "SigBlk:");
  return mask != nullptr && (std::strtoull(mask + std::strlen("SigBlk:"), nullptr, 16) & signals) != 0;
}

}  // namespace weft::rt
