#include "os/membarrier.hpp"

#include <linux/membarrier.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/check.hpp"

namespace weft::rt {

bool membarrier_register() noexcept {
  return syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0, 0) == 0;
}

void membarrier_all() noexcept {
  const bool granted = syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0) == 0;
  WEFT_CHECK(granted && "a filter of system calls (seccomp) that a program sets later must let membarrier() through");
}

}  // namespace weft::rt
