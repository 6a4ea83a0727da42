// elsewhere.hpp: code whose stack pointer is not where its ULT's stack is, as with code that is made at run time.
#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cstddef>
#include <cstring>

#include "support/runtime_fixture.hpp"

namespace weft_test {

// Nothing is called, and nothing pushed.
inline void spin_until_with_stack_pointer(void* at, const std::atomic<bool>& flag) {
  static_assert(sizeof flag == 1);
  asm volatile(
      "movq %%rsp, %%rbx\n\t"
      "movq %[at], %%rsp\n"
      "1: cmpb $0, (%[flag])\n\t"
      "je 1b\n\t"
      "movq %%rbx, %%rsp\n\t"
      :
      : [at] "r"(at), [flag] "r"(&flag)
      : "rbx", "cc", "memory");
}

// A page behind one that nobody may touch: whoever pushes something there finds out.
class Elsewhere {
 public:
  Elsewhere() : page_(static_cast<size_t>(sysconf(_SC_PAGESIZE))) {
    memory_ = static_cast<char*>(mmap(nullptr, 2 * page_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    EXPECT_NE(memory_, MAP_FAILED);
    EXPECT_EQ(mprotect(memory_, page_, PROT_NONE), 0);
    std::memset(memory_ + page_, kFill, page_);
  }
  Elsewhere(const Elsewhere&) = delete;
  Elsewhere& operator=(const Elsewhere&) = delete;
  ~Elsewhere() {
    size_t changed = 0;
    for (size_t i = 0; i < page_; ++i) changed += memory_[page_ + i] != kFill;
    EXPECT_EQ(changed, 0u);
    munmap(memory_, 2 * page_);
  }
  void spin_until(const std::atomic<bool>& flag) const { spin_until_with_stack_pointer(memory_ + page_ + 256, flag); }

 private:
  static constexpr char kFill = 0x5a;
  const size_t page_;
  char* memory_;
};

}  // namespace weft_test
