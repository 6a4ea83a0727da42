// spare_maker.hpp: the thread that makes spare KLTs, so that whoever needs one at once finds it.
#pragma once

namespace weft::rt {

// False: the kernel refused the thread.
bool spare_maker_start() noexcept;
void spare_maker_stop() noexcept;
// Under the same lock: its thread has been made and does nothing of ours yet.
bool spare_maker_is_starting() noexcept;
// In a forked child, where it is no more.
void spare_maker_forget() noexcept;
// There are none, or too few. Async-signal-safe.
void spare_maker_call() noexcept;
// ULTs may be stuck: it looks (preempt_look_for_stuck()). Async-signal-safe.
void spare_maker_look() noexcept;
bool is_spare_maker(int tid) noexcept;
// 0: there is none.
int spare_maker_tid() noexcept;

}  // namespace weft::rt
