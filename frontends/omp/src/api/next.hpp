// next.hpp: the function that the caller of one of ours would have reached. For whoever calls it later somebody may wait who has the loader's
// lock: so each is looked up when the library is loaded (src/intercept/README.md in the core, whose own ends in a check that is not exported).
#pragma once

#include <dlfcn.h>

#include <atomic>

namespace weft::omp {

template <class Function>
class Next {
 public:
  constexpr explicit Next(const char* name) noexcept : name_(name) {}
  Function* get() noexcept {
    Function* found = found_.load(std::memory_order_relaxed);
    if (found == nullptr) {
      found = reinterpret_cast<Function*>(dlsym(RTLD_NEXT, name_));
      found_.store(found, std::memory_order_relaxed);
    }
    return found;
  }

 private:
  const char* name_;
  std::atomic<Function*> found_{nullptr};
};

}  // namespace weft::omp
