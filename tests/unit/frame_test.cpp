// What a signal has interrupted, as the frame tells it: a call that is about to be begun again ends where a handler ends it.
#include "arch/frame.hpp"

#include <gtest/gtest.h>

namespace weft::rt {
namespace {

class Frame : public testing::Test {
 protected:
  // Before the instruction: the register holds the call's number.
  bool ends(long call, bool handler_restarts) {
    ucontext_t frame{};
    frame.uc_mcontext.gregs[REG_RIP] = reinterpret_cast<greg_t>(code_);
    frame.uc_mcontext.gregs[REG_RAX] = call;
    frame_end_call(frame, handler_restarts);
    const bool ended = frame.uc_mcontext.gregs[REG_RAX] == -EINTR;
    EXPECT_EQ(frame_ip(frame), reinterpret_cast<uintptr_t>(code_) + (ended ? 2 : 0));
    EXPECT_TRUE(ended || frame.uc_mcontext.gregs[REG_RAX] == call);
    return ended;
  }

 private:
  alignas(16) unsigned char code_[2] = {0x0f, 0x05};
};

TEST_F(Frame, SomeCallsEndUnlessTheHandlerHasThemRestarted) {
  for (const long call : {SYS_read, SYS_futex, SYS_wait4, SYS_accept4}) {
    EXPECT_TRUE(ends(call, false)) << call;
    EXPECT_FALSE(ends(call, true)) << call;
  }
}

TEST_F(Frame, OthersEndByAnyHandler) {
  for (const long call : {SYS_clock_nanosleep, SYS_nanosleep, SYS_poll, SYS_pselect6, SYS_pause, SYS_semtimedop, SYS_restart_syscall}) {
    EXPECT_TRUE(ends(call, false)) << call;
    EXPECT_TRUE(ends(call, true)) << call;
  }
}

TEST_F(Frame, WhatDoesNotWaitIsLeftAlone) {
  for (const long call : {SYS_getpid, SYS_mmap, SYS_close}) EXPECT_FALSE(ends(call, false)) << call;
}

}  // namespace
}  // namespace weft::rt
