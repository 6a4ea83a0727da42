// next.hpp: the function that the caller would have reached: the C library's, or another library's that stands before it too.
#pragma once

#include <dlfcn.h>

#include <atomic>

#include "base/check.hpp"

namespace weft::rt {

template <class Function>
class Next {
 public:
  constexpr explicit Next(const char* name) noexcept : name_(name) {}

  // Async-signal-safe after the first time, which takes the loader's lock.
  Function* get() noexcept {
    Function* found = known();
    return __builtin_expect(found != nullptr, 1) ? found : look();
  }
  // Null before the first time.
  Function* known() const noexcept { return found_.load(std::memory_order_relaxed); }

 private:
  [[gnu::noinline, gnu::cold]] Function* look() noexcept {
    void* symbol = dlsym(RTLD_NEXT, name_);
    // Where the C library comes first: see README.md.
    if (symbol == nullptr) symbol = dlsym(RTLD_DEFAULT, name_);
    auto* found = reinterpret_cast<Function*>(symbol);
    WEFT_CHECK(found != nullptr && "the C library lacks a function of POSIX threads");
    found_.store(found, std::memory_order_relaxed);
    return found;
  }

  const char* name_;
  std::atomic<Function*> found_{nullptr};
};

}  // namespace weft::rt
