// full_queue.hpp: a process for which no signal can be queued any more, and no timer made, as where another one of the user's has used that up.
#pragma once

#include <gtest/gtest.h>
#include <sys/resource.h>

namespace weft_test {

class FullQueue {
 public:
  FullQueue() {
    EXPECT_EQ(getrlimit(RLIMIT_SIGPENDING, &before_), 0);
    const rlimit none{0, before_.rlim_max};
    EXPECT_EQ(setrlimit(RLIMIT_SIGPENDING, &none), 0);
  }
  ~FullQueue() { EXPECT_EQ(setrlimit(RLIMIT_SIGPENDING, &before_), 0); }
  FullQueue(const FullQueue&) = delete;
  FullQueue& operator=(const FullQueue&) = delete;

 private:
  rlimit before_{};
};

}  // namespace weft_test
