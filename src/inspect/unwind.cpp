#include "inspect/unwind.hpp"

#include <atomic>
#include <climits>

#include "inspect/cfi/cfi.hpp"
#include "os/clock.hpp"
#include "os/futex.hpp"
#include "os/loader_work.hpp"
#include "os/peek.hpp"

namespace weft::rt {
namespace {

constexpr char kNotYet[] = "libunwind could not be loaded meanwhile";
constinit std::atomic<const char*> lacks{kNotYet};  // written once, at LoaderWork
constinit FutexWord is_known{0};                    // whether it has been

// Each frame begins with the caller's frame pointer and the return address. Code without frame pointers leaves
// out its caller, or ends the chain.
void walk_frame_pointers(const Registers& from, Frames& to) noexcept {
  struct Link {
    uintptr_t bp;
    uintptr_t ip;
  };
  to.count = 0;
  to.cut = false;
  uintptr_t ip = from.ip();
  uintptr_t bp = from.bp();
  uintptr_t above = from.sp();
  while (ip != 0 && to.count < Frames::kMost) {
    to.at[to.count++] = ip;
    Link link;
    if (bp < above || bp % sizeof bp != 0 || !peek(reinterpret_cast<const void*>(bp), &link, sizeof link)) return;
    above = bp + sizeof link;
    ip = link.ip;
    bp = link.bp;
  }
  to.cut = ip != 0;
}

}  // namespace

void unwind_prepare() noexcept {
  {
    const LoaderWork hold;
    // Release, pairs with the acquire of who finds it ready.
    if (lacks.load(std::memory_order_relaxed) == kNotYet) lacks.store(cfi_open(), std::memory_order_release);
  }
  is_known.store(1, std::memory_order_release);
  futex_wake(is_known, INT_MAX);
}

void unwind_await(AskForUnwinder ask) noexcept {
  constexpr uint64_t kAtMostNs = 1'000'000'000;
  if (is_known.load(std::memory_order_acquire) != 0 || !ask(unwind_prepare)) return;
  const uint64_t end = now_ns() + kAtMostNs;
  while (is_known.load(std::memory_order_acquire) == 0 && now_ns() < end) futex_wait_until(is_known, 0, end);
}

const char* unwind_lacks() noexcept { return lacks.load(std::memory_order_acquire); }

void unwind_forget() noexcept {
  if (unwind_lacks() == nullptr) cfi_forget();
}

void unwind(const Registers& from, Frames& to) noexcept {
  if (unwind_lacks() == nullptr) return cfi_unwind(from, to);
  walk_frame_pointers(from, to);
}

}  // namespace weft::rt
