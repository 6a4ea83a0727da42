// write.cpp: write() and writev(), before the C library's: see in_parts.hpp.
//
// They have no versions: see yield.cpp.
#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>

#include "api/in_parts.hpp"
#include "api/next.hpp"
#include "export.hpp"
#include "front/front.hpp"

namespace weft::omp {
namespace {

constinit Next<ssize_t(int, const void*, size_t)> next_write{"write"};
constinit Next<ssize_t(int, const iovec*, int)> next_writev{"writev"};

[[gnu::constructor]] void find_next() {
  next_write.get();
  next_writev.get();
}

// Only a signal makes it take less than it is given, as long as it is in order.
bool takes_all(int fd) {
  struct stat file;
  const int flags = fcntl(fd, F_GETFL);
  if (flags == -1 || (flags & O_NONBLOCK) != 0 || fstat(fd, &file) != 0) return false;
  if (S_ISSOCK(file.st_mode)) {
    timeval longest{};
    socklen_t size = sizeof longest;
    if (getsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &longest, &size) != 0 || longest.tv_sec != 0 || longest.tv_usec != 0) return false;
  } else if (!S_ISFIFO(file.st_mode) && isatty(fd) == 0) {
    return false;
  }
  // The program's own next call is to be told of what has happened to it.
  const timespec no_time{};
  pollfd end{fd, POLLOUT, 0};
  return syscall(SYS_ppoll, &end, 1, &no_time, nullptr, 0) >= 0 && (end.revents & (POLLERR | POLLHUP | POLLNVAL)) == 0;
}

}  // namespace

bool InParts::ended_by_none() const {
  const int error = errno;
  const bool none = takes_all(fd_) && front::part_goes_on(mark_);
  errno = error;
  return none;
}

}  // namespace weft::omp

using namespace weft::omp;

WEFT_OMP_API ssize_t write(int fd, const void* from, size_t bytes) {
  const InParts call(fd);
  const ssize_t done = next_write.get()(fd, from, bytes);
  return call.all(from, bytes, done, [&](const char* rest, size_t left) { return next_write.get()(fd, rest, left); });
}

WEFT_OMP_API ssize_t writev(int fd, const iovec* parts, int n) {
  const InParts call(fd);
  ssize_t done = next_writev.get()(fd, parts, n);
  size_t bytes = 0;
  for (int i = 0; done > 0 && i < n; ++i) bytes += parts[i].iov_len;
  if (!call.go_on(done, bytes)) return done;
  auto skip = static_cast<size_t>(done);
  for (const iovec* part = parts; part != parts + n; ++part) {
    const size_t written = skip < part->iov_len ? skip : part->iov_len;
    skip -= written;
    const bool all = call.rest(static_cast<const char*>(part->iov_base) + written, part->iov_len - written, done,
                                [&](const char* rest, size_t left) { return next_write.get()(fd, rest, left); });
    if (!all) break;
  }
  return done;
}
