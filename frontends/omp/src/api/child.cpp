// child.cpp: wait() and its kin, before the C library's. The kernel tells the process that a child has ended before it tells whoever waits for that:
// a handler of SIGCHLD has run when the call returns. What the process is sent gets to main by way of its lender, or of another thread: so it is
// waited for.
//
// They have no versions: see yield.cpp.
#include <sys/resource.h>
#include <sys/wait.h>

#include <cerrno>

#include "api/next.hpp"
#include "export.hpp"
#include "front/front.hpp"

namespace weft::omp {
namespace {

constinit Next<pid_t(int*)> next_wait{"wait"};
constinit Next<pid_t(pid_t, int*, int)> next_waitpid{"waitpid"};
constinit Next<int(idtype_t, id_t, siginfo_t*, int)> next_waitid{"waitid"};
constinit Next<pid_t(int*, int, rusage*)> next_wait3{"wait3"};
constinit Next<pid_t(pid_t, int*, int, rusage*)> next_wait4{"wait4"};

[[gnu::constructor]] void find_next() {
  next_wait.get();
  next_waitpid.get();
  next_waitid.get();
  next_wait3.get();
  next_wait4.get();
}

void handle_what_has_come() {
  const int error = errno;
  front::signals_catch_up();
  errno = error;
}

pid_t and_handled(pid_t child) {
  if (child > 0) handle_what_has_come();
  return child;
}

}  // namespace
}  // namespace weft::omp

using namespace weft::omp;

WEFT_OMP_API pid_t wait(int* status) { return and_handled(next_wait.get()(status)); }
WEFT_OMP_API pid_t waitpid(pid_t child, int* status, int options) { return and_handled(next_waitpid.get()(child, status, options)); }
WEFT_OMP_API int waitid(idtype_t type, id_t number, siginfo_t* info, int options) {
  const int result = next_waitid.get()(type, number, info, options);
  if (result == 0 && (info == nullptr || info->si_pid != 0)) handle_what_has_come();
  return result;
}
WEFT_OMP_API pid_t wait3(int* status, int options, rusage* usage) noexcept { return and_handled(next_wait3.get()(status, options, usage)); }
WEFT_OMP_API pid_t wait4(pid_t child, int* status, int options, rusage* usage) noexcept {
  return and_handled(next_wait4.get()(child, status, options, usage));
}
