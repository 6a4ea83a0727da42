// signal_stack.cpp: sigaltstack() by a ULT. The alternate stack is the kernel thread's, and Weft's: the frames of ticks lie there. One
// that a ULT set would be left behind when it goes on elsewhere, and then be of two kernel threads at once, or memory that is freed. So
// what a ULT sets is noted and told; the program's handlers of faults run there (os/overflow.cpp), others of its handlers on Weft's.
#include <errno.h>
#include <signal.h>

#include "intercept/next.hpp"
#include "klt/klt.hpp"
#include "os/overflow.hpp"

using namespace weft::rt;

namespace {

constinit Next<int(const stack_t*, stack_t*) noexcept> next_sigaltstack{"sigaltstack"};

[[gnu::constructor]] void find_next() noexcept { next_sigaltstack.find(); }

constexpr int kKinds = static_cast<int>(~(1u << 31));  // without SS_AUTODISARM
constexpr size_t kLeast = 2048;                        // the kernel's

int refuse(int error) noexcept {
  errno = error;
  return -1;
}

int set_mine(const stack_t& wanted) noexcept {
  const int kind = wanted.ss_flags & kKinds;
  if (kind != 0 && kind != SS_DISABLE && kind != SS_ONSTACK) return refuse(EINVAL);
  if (kind == SS_DISABLE) {
    program_alternate_stack = {nullptr, SS_DISABLE, 0};
    return 0;
  }
  if (wanted.ss_size < kLeast) return refuse(ENOMEM);
  program_alternate_stack = {wanted.ss_sp, wanted.ss_flags & ~kKinds, wanted.ss_size};
  return 0;
}

}  // namespace

#pragma GCC visibility push(default)
extern "C" {

int sigaltstack(const stack_t* wanted, stack_t* was) noexcept {
  const Klt* klt = klt_register_valid() ? klt_self() : nullptr;
  if (klt == nullptr || klt->alt_stack == nullptr) {
    const int result = next_sigaltstack.get()(wanted, was);
    if (result == 0 && wanted != nullptr) static_cast<void>(set_mine(*wanted));
    return result;
  }
  stack_t before = program_alternate_stack;
  const uintptr_t from_low = reinterpret_cast<uintptr_t>(&before) - reinterpret_cast<uintptr_t>(before.ss_sp);
  const bool there = (before.ss_flags & SS_DISABLE) == 0 && (overflow_is_on_stack_of(klt) || from_low < before.ss_size);
  if (there) before.ss_flags |= SS_ONSTACK;
  if (wanted != nullptr) {
    if (there) return refuse(EPERM);
    if (set_mine(*wanted) != 0) return -1;
  }
  if (was != nullptr) *was = before;
  return 0;
}

}  // extern "C"
#pragma GCC visibility pop
