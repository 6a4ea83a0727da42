#include "inspect/unwind.hpp"

#include "inspect/cfi/cfi.hpp"
#include "os/peek.hpp"

namespace weft::rt {
namespace {

constexpr char kNotYet[] = "the runtime has not been started";
const char* lacks = kNotYet;  // written once, before anybody unwinds

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
  if (lacks == kNotYet) lacks = cfi_open();
}

const char* unwind_lacks() noexcept { return lacks; }

void unwind_forget() noexcept {
  if (lacks == nullptr) cfi_forget();
}

void unwind(const Registers& from, Frames& to) noexcept {
  if (lacks == nullptr) return cfi_unwind(from, to);
  walk_frame_pointers(from, to);
}

}  // namespace weft::rt
