// yield.cpp: sched_yield(), before the C library's. Programs and libraries that wait for another OpenMP thread call it in a loop
// (OpenBLAS does): the other one may be a ULT of the same worker, which the kernel knows nothing of.
//
// It has no version, so that it is found by whoever asks for the C library's: src/intercept/README.md in the core.
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "export.hpp"
#include "front/front.hpp"

namespace {

// Now and then it is the kernel's turn all the same: who is waited for may be another worker's, whose carrier has no core.
constexpr unsigned kKernelsTurn = 16;
thread_local unsigned calls = 0;

}  // namespace

WEFT_OMP_API int sched_yield() noexcept {
  if (++calls % kKernelsTurn != 1 && weft::front::yield_as_thread(calls)) return 0;
  return static_cast<int>(syscall(SYS_sched_yield));
}
