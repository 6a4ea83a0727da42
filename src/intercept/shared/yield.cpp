// yield.cpp: our own calls of sched_yield() mean the kernel's. A front-end may have put another one before the C library's, by
// which a ULT gives way to others: that is for programs, not for a section of Weft's. So the library has one for itself, which
// nobody else sees.
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#pragma GCC visibility push(hidden)
extern "C" int sched_yield() noexcept { return static_cast<int>(syscall(SYS_sched_yield)); }
#pragma GCC visibility pop
