#include "report.hpp"

#include <sched.h>
#include <sys/mman.h>
#include <unistd.h>

namespace weft::abt {
namespace {

// A FILE need not have a descriptor, and what is in its buffer would come later.
bool copy(int from, std::FILE* to) noexcept {
  char piece[4096];
  if (lseek(from, 0, SEEK_SET) != 0) return false;
  for (;;) {
    const ssize_t n = read(from, piece, sizeof piece);
    if (n <= 0) return n == 0 && std::fflush(to) == 0;
    if (std::fwrite(piece, 1, static_cast<size_t>(n), to) != static_cast<size_t>(n)) return false;
  }
}

}  // namespace

int copy_report(std::FILE* to, int (*write)(int fd, void* arg), void* arg) noexcept {
  const int fd = memfd_create("report", MFD_CLOEXEC);
  if (fd < 0) return ABT_ERR_SYS;
  int error;
  while ((error = write(fd, arg)) == WEFT_ERR_BUSY) sched_yield();
  const bool copied = copy(fd, to);
  close(fd);
  if (error == WEFT_ERR_UNINITIALIZED) return ABT_ERR_UNINITIALIZED;
  return error == WEFT_OK && copied ? ABT_SUCCESS : ABT_ERR_SYS;
}

}  // namespace weft::abt
