// What a signal has interrupted, as the frame tells it: a call that is about to be begun again ends where a handler ends it.
#include "arch/frame.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <initializer_list>
#include <utility>

namespace weft::rt {
namespace {

class Frame : public testing::Test {
 protected:
  // Before the instruction: the register holds the call's number.
  bool ends(long call, bool handler_restarts, std::initializer_list<std::pair<int, long>> arguments = {}) {
    ucontext_t frame{};
    for (const auto& [name, value] : arguments) frame.uc_mcontext.gregs[name] = value;
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
  for (const long call : {SYS_read, SYS_futex, SYS_accept4}) {
    EXPECT_TRUE(ends(call, false)) << call;
    EXPECT_FALSE(ends(call, true)) << call;
  }
}

// The kernel tells of the child before its signal ends the call.
TEST_F(Frame, AWaitForAChildEndsUnlessThatIsThere) {
  int ends_when_closed[2];
  ASSERT_EQ(pipe(ends_when_closed), 0);
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    char byte;
    close(ends_when_closed[1]);
    while (read(ends_when_closed[0], &byte, 1) > 0) {
    }
    _exit(0);
  }
  const auto wait_ends = [&](bool handler_restarts) {
    const bool by_number = ends(SYS_wait4, handler_restarts, {{REG_RDI, child}});
    EXPECT_EQ(ends(SYS_wait4, handler_restarts, {{REG_RDI, -1}}), by_number);
    EXPECT_EQ(ends(SYS_wait4, handler_restarts, {{REG_RDI, 0}}), by_number);
    EXPECT_EQ(ends(SYS_wait4, handler_restarts, {{REG_RDI, -getpgrp()}, {REG_RDX, WUNTRACED}}), by_number);
    EXPECT_EQ(ends(SYS_waitid, handler_restarts, {{REG_RDI, P_PID}, {REG_RSI, child}, {REG_R10, WEXITED}}), by_number);
    EXPECT_EQ(ends(SYS_waitid, handler_restarts, {{REG_RDI, P_ALL}, {REG_R10, WEXITED | WSTOPPED}}), by_number);
    return by_number;
  };
  EXPECT_TRUE(wait_ends(false));
  EXPECT_FALSE(wait_ends(true));
  close(ends_when_closed[0]);
  close(ends_when_closed[1]);
  siginfo_t info;
  ASSERT_EQ(waitid(P_PID, static_cast<id_t>(child), &info, WEXITED | WNOWAIT), 0);
  EXPECT_FALSE(wait_ends(false));
  ASSERT_EQ(waitpid(child, nullptr, 0), child);
  EXPECT_FALSE(ends(SYS_wait4, false, {{REG_RDI, child}}));  // there is none
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
