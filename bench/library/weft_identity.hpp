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
};

struct WeftWorker : Weft {
  static constexpr const char* kVariants[] = {"the worker's identity"};
};

}  // namespace bench

#endif  // WEFT_BENCH_LIBRARY_WEFT_IDENTITY_HPP
