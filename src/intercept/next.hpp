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

  // Takes the loader's lock. An older C library may lack what no program has called there.
  [[gnu::cold]] void find() noexcept {
    void* symbol = dlsym(RTLD_NEXT, name_);
    // Where the C library comes first: see README.md.
    if (symbol == nullptr) symbol = first();
    found_.store(reinterpret_cast<Function*>(symbol), std::memory_order_relaxed);
  }
  // Async-signal-safe once it has been found.
  Function* get() noexcept {
    Function* found = known();
    return __builtin_expect(found != nullptr, 1) ? found : look();
  }
  // Null before that.
  Function* known() const noexcept { return found_.load(std::memory_order_relaxed); }

 private:
  // Not our own, which would call itself without end.
  void* first() const noexcept {
    void* symbol = dlsym(RTLD_DEFAULT, name_);
    Dl_info its, ours;
    const bool known = symbol != nullptr && dladdr(symbol, &its) != 0 && dladdr(this, &ours) != 0;
    return known && its.dli_fbase == ours.dli_fbase ? nullptr : symbol;
  }
  [[gnu::noinline, gnu::cold]] Function* look() noexcept {
    find();
    WEFT_CHECK(known() != nullptr && "the C library lacks a function of POSIX threads");
    return known();
  }

  const char* name_;
  std::atomic<Function*> found_{nullptr};
};

}  // namespace weft::rt
