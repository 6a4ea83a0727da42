#include "arch/klt_register.hpp"

#include <asm/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "arch/thread_pointer.hpp"
#include "base/check.hpp"

namespace weft::rt {

extern "C" {
thread_local bool weft_rt_on_klt = false;
__attribute__((tls_model("initial-exec"), visibility("default"), alias("weft_rt_on_klt"))) extern thread_local bool weft_on_klt;
}

void klt_register_set(Klt* klt) noexcept {
  if (klt == nullptr) weft_rt_on_klt = false;
  WEFT_CHECK(syscall(SYS_arch_prctl, ARCH_SET_GS, klt) == 0);
  if (klt != nullptr) weft_rt_on_klt = true;
}

ptrdiff_t klt_register_flag() noexcept {
  return static_cast<ptrdiff_t>(reinterpret_cast<uintptr_t>(&weft_rt_on_klt) - thread_pointer());
}

void klt_register_presume() noexcept { weft_rt_on_klt = true; }
void klt_register_hide() noexcept { weft_rt_on_klt = false; }

}  // namespace weft::rt
