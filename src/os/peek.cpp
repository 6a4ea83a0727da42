// peek.cpp: by process_vm_readv() on ourselves, which a process may always do, and which returns an error
// where a load would fault.
//
// Rejected: msync() or mincore() before a load (the page may go in between, and guards made by
// MADV_GUARD_INSTALL count as mapped); a handler for SIGSEGV (it belongs to the program).
#include "os/peek.hpp"

#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

namespace weft::rt {

bool peek(const void* from, void* to, size_t bytes) noexcept {
  const iovec local{to, bytes};
  const iovec remote{const_cast<void*>(from), bytes};
  // Not the C library's function: sanitizers take that for an access of ours.
  const long got = syscall(SYS_process_vm_readv, getpid(), &local, 1ul, &remote, 1ul, 0ul);
  return got == static_cast<long>(bytes);
}

}  // namespace weft::rt
