// spare_maker.hpp: the thread that makes spare KLTs, so that whoever needs one at once finds it.
#pragma once

#include <cstdint>

namespace weft::rt {

struct Klt;

// False: the kernel refused the thread.
bool spare_maker_start() noexcept;
void spare_maker_stop() noexcept;
// Under runtime.setup.
bool spare_maker_is_there() noexcept;
// The same: its thread has been made and does nothing of ours yet.
bool spare_maker_is_starting() noexcept;
// In a forked child, where it is no more.
void spare_maker_forget() noexcept;
// There are none, or too few. Async-signal-safe.
void spare_maker_call() noexcept;
// How often the kernel has refused it a thread.
uint32_t spare_maker_refusals() noexcept;
// How often it has made what was missing, or tried to; sleeps until that is another number, or so long.
uint32_t spare_maker_rounds() noexcept;
void spare_maker_wait(uint32_t rounds, uint64_t ns) noexcept;
// For who waits, in a loop, for what it does: a moment, or until it has made some. A ULT is suspended meanwhile. Guard down.
void spare_maker_pause(uint32_t rounds) noexcept;
// A KLT for a worker that is to be made, where workers may be, or have been, taken from ULTs: a ULT that made the thread itself, in a section, would wait there with its
// worker for locks of the loader's or the allocator's, which one may hold that was taken off that worker. Guard down; a ULT is suspended meanwhile. Null:
// none is to be had so, or there is no need.
Klt* spare_for_new_worker() noexcept;
// ULTs may be stuck: it looks (preempt_look_for_stuck()). Async-signal-safe.
void spare_maker_look() noexcept;
bool is_spare_maker(int tid) noexcept;
// 0: there is none.
int spare_maker_tid() noexcept;

}  // namespace weft::rt
