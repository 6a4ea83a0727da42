#include "inspect/cfi/cfi.hpp"

namespace weft::rt {

const char* cfi_open() noexcept {
  return "this libweft was built without libunwind (install libunwind-dev, configure and build again)";
}

void cfi_forget() noexcept {}
void cfi_unwind(const Registers&, Frames&) noexcept {}

}  // namespace weft::rt
