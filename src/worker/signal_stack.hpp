// signal_stack.hpp: on which stack a handler runs that a ULT may be left in.
//
// The kernel puts a signal's frame on the KLT's alternate stack, not where the stack pointer of the ULT is: that may be anywhere. Code
// that is made at run time lets it point into a block of malloc's (oneDNN's matrix products do, so PyTorch does), and coroutines of the
// program's have stacks of a few KiB. A frame below would overwrite what is not its own.
//
// On the alternate stack a handler may have its KLT sleep, but the ULT cannot leave for another KLT. So where the ULT was on
// its own stack, and that has room, the frame moves there (0.1 µs), and the handler goes on there.
#pragma once

#include "arch/frame.hpp"
#include "unit/unit.hpp"
#include "worker/worker.hpp"

namespace weft::rt {

// For a handler, besides the frame.
inline constexpr size_t kHandlerRoom = 8192;

// The stack that the unit runs on, as far as the caller may know: guard up, or the unit is in the kernel without its worker (null).
inline const Stack* stack_of(const Unit* unit, const Worker* worker) noexcept {
  const Stack* own = unit->host->stack;
  return own != nullptr || worker == nullptr ? own : worker->sched_stack;
}

inline bool is_on(const Stack& stack, uintptr_t address) noexcept {
  return address >= reinterpret_cast<uintptr_t>(stack.low) && address <= reinterpret_cast<uintptr_t>(stack.top);
}

// Goes on with rest(the frame there), which returns to what was interrupted; or returns: the frame stays where it is. Never
// inlined into what AddressSanitizer instruments: it would take the frames that are given up for live ones.
[[gnu::always_inline]] inline void move_to_stack_of(const Unit* unit, const Worker* worker, const siginfo_t* info, ucontext_t& frame,
                                                    void (*rest)(ucontext_t*)) noexcept {
  const Stack* stack = stack_of(unit, worker);
  if (stack == nullptr || !is_on(*stack, frame_general(frame, REG_RSP))) return;
  const FramePlace place = frame_place(info, frame);
  if (place.low == 0 || is_on(*stack, place.low)) return;
  const FramePlace there = frame_place_there(place, frame);
  const uintptr_t low = there.low - kHandlerRoom;
  if (!is_on(*stack, low) || stack_in_guard(*stack, reinterpret_cast<const void*>(low))) return;
  frame_go_on_there(place, there, frame, rest);
}

// A handler that stays where it is, maybe on a small alternate stack of the program's.
inline bool has_room_here(const ucontext_t& frame) noexcept {
  const auto here = reinterpret_cast<uintptr_t>(&frame);
  const auto low = reinterpret_cast<uintptr_t>(frame.uc_stack.ss_sp);
  return here - low >= frame.uc_stack.ss_size || here - low >= kHandlerRoom;
}

}  // namespace weft::rt
