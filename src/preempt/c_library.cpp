// c_library.cpp: where nobody leaves by signal-yield: in the C library, the loader, and whose malloc() it is.
//
// There a unit may hold a lock of theirs. Whoever wants one of those waits in the kernel, a fork() for all of malloc's, so who holds it
// is to be found by where its KLT sleeps: of one that has left by signal-yield none does, and it may be the last to be run. Held only
// while they run themselves, but for the loader's, with which it calls constructors.
#include <gnu/libc-version.h>
#include <link.h>
#include <sys/auxv.h>

#include <algorithm>
#include <cstdlib>
#include <iterator>

#include "inspect/loaded.hpp"
#include "preempt/preempt.hpp"

namespace weft::rt {
namespace {

struct Range {
  std::atomic<uintptr_t> low{0}, high{0};  // [low, high)
  bool has(uintptr_t address) const noexcept {
    return address >= low.load(std::memory_order_relaxed) && address < high.load(std::memory_order_relaxed);
  }
};
constinit Range ranges[3];

// Not the program itself: with -static all of it is one, and a function's address may be a stub's there.
void learn(Range& range, const void* address) noexcept {
  uintptr_t low = 0, high = 0;
  const auto program = static_cast<uintptr_t>(getauxval(AT_PHDR));
  if (!loaded_range(address, low, high) || (program >= low && program < high)) return;
  range.low.store(low, std::memory_order_relaxed);
  range.high.store(high, std::memory_order_relaxed);
}

}  // namespace

void preempt_learn_c_library() noexcept {
  learn(ranges[0], reinterpret_cast<const void*>(gnu_get_libc_version));
  learn(ranges[1], reinterpret_cast<const void*>(_r_debug.r_ldbase));
  learn(ranges[2], reinterpret_cast<const void*>(malloc));
}

bool preempt_in_c_library(uintptr_t address) noexcept {
  return std::any_of(std::begin(ranges), std::end(ranges), [=](const Range& range) { return range.has(address); });
}

}  // namespace weft::rt
