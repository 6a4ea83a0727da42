// no_more.hpp: a process to which the kernel grants nothing more of a resource.
#pragma once

#include <gtest/gtest.h>
#include <sys/resource.h>

namespace weft_test {

// While one lives. RLIMIT_AS: no mapping; RLIMIT_SIGPENDING: no signal can be queued, and no timer made, as where another process of the
// user's has used that up.
class NoMore {
 public:
  explicit NoMore(__rlimit_resource resource) : resource_(resource) {
    EXPECT_EQ(getrlimit(resource_, &before_), 0);
    const rlimit none{0, before_.rlim_max};
    EXPECT_EQ(setrlimit(resource_, &none), 0);
  }
  ~NoMore() { EXPECT_EQ(setrlimit(resource_, &before_), 0); }
  NoMore(const NoMore&) = delete;
  NoMore& operator=(const NoMore&) = delete;

 private:
  const __rlimit_resource resource_;
  rlimit before_{};
};

}  // namespace weft_test
