// peek.cpp: by process_vm_readv() on ourselves, which a process may always do, and which returns an error
// where a load would fault. Filters of system calls (containers, services) may forbid that one: then by
// /proc/self/mem, opened each time, because a file that is kept open may be closed by the program.
//
// Rejected: msync() or mincore() before a load (the page may go in between, and guards made by
// MADV_GUARD_INSTALL count as mapped); a handler for SIGSEGV (it belongs to the program).
#include "os/peek.hpp"

#include <fcntl.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cerrno>

namespace weft::rt {
namespace {

// Not the C library's functions: sanitizers take those for accesses of ours.
long read_by_call(const void* from, void* to, size_t bytes) noexcept {
  const iovec local{to, bytes};
  const iovec remote{const_cast<void*>(from), bytes};
  return syscall(SYS_process_vm_readv, getpid(), &local, 1ul, &remote, 1ul, 0ul);
}

long read_by_file(const void* from, void* to, size_t bytes) noexcept {
  const long fd = syscall(SYS_openat, AT_FDCWD, "/proc/self/mem", O_RDONLY | O_CLOEXEC);
  if (fd < 0) return -1;
  const long got = syscall(SYS_pread64, fd, to, bytes, from);
  syscall(SYS_close, fd);
  return got;
}

}  // namespace

bool peek(const void* from, void* to, size_t bytes) noexcept {
  long got = read_by_call(from, to, bytes);
  if (got < 0 && (errno == EPERM || errno == ENOSYS)) got = read_by_file(from, to, bytes);
  return got == static_cast<long>(bytes);
}

}  // namespace weft::rt
