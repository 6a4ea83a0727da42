// ask.hpp: the registers of a thread that runs: it is sent a signal, notes them, and stands still until we have
// looked.
#pragma once

#include <cstdint>

#include "arch/registers.hpp"

namespace weft::rt {

enum class Answer : uint8_t {
  kGiven,
  kNone,       // it did not come in time: blocks the signal, or hangs in the kernel
  kGone,       // there is no such thread any more
  kNoSignal,   // the program uses all real-time signals itself
};

// Where the answer is Given the thread stands still until release(). Async-signal-safe; one caller at a time.
Answer ask_registers(int tid, Registers& registers) noexcept;
void ask_release() noexcept;

// Gives the signal back, unless an answer is still owed. For finalise.
void ask_stop() noexcept;

// Where a thread sleeps in the kernel, without a signal, which would end some system calls early: instruction and stack
// pointer, as the kernel tells them. False: it runs, or the kernel does not tell. Not in a handler.
bool registers_of_sleeper(int tid, Registers& registers) noexcept;

// In a forked child: who asks, or is asked, has stayed behind.
void ask_forget() noexcept;

}  // namespace weft::rt
