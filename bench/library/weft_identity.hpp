// weft_identity.hpp: Weft's ULTs with an identity of their own, and with that of their worker.
#ifndef WEFT_BENCH_LIBRARY_WEFT_IDENTITY_HPP
#define WEFT_BENCH_LIBRARY_WEFT_IDENTITY_HPP

#include "library/weft.hpp"

namespace bench {

struct WeftOwn : Weft {
  static constexpr const char* kVariants[] = {"an identity of its own"};

  template <void (*F)(void*)>
  void create(Handle& handle, void* arg) {
    weft_unit_attr_t attr = WEFT_UNIT_ATTR_INIT;
    attr.identity = WEFT_IDENTITY_OWN;
    check(weft_ult_create(F, arg, &attr, &handle) == WEFT_OK, "weft_ult_create");
  }
  // What is said of a unit is what is done; signal-yield as the default would need awareness of blocking.
  template <void (*F)(void*)>
  void create_on(int worker, Handle& handle, void* arg) {
    weft_unit_attr_t attr = WEFT_UNIT_ATTR_INIT;
    attr.identity = WEFT_IDENTITY_OWN;
    attr.preemption = preemption_;
    attr.worker = weft_worker_get(static_cast<unsigned>(worker));
    attr.pinned = true;
    check(weft_ult_create(F, arg, &attr, &handle) == WEFT_OK, "weft_ult_create");
  }
  void ticks(const std::string& kind, long interval_us) {
    Weft::ticks(kind, interval_us);
    preemption_ = kind == "signal_yield" ? WEFT_PREEMPTION_SIGNAL_YIELD : WEFT_PREEMPTION_KLT_SWITCHING;
  }

 private:
  weft_preemption_t preemption_ = WEFT_PREEMPTION_DEFAULT;
};

struct WeftWorker : Weft {
  static constexpr const char* kVariants[] = {"the worker's identity"};
};

}  // namespace bench

#endif  // WEFT_BENCH_LIBRARY_WEFT_IDENTITY_HPP
