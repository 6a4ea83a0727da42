// own_signal.hpp: the real-time signals of ours that come to a KLT in the midst of a ULT: their handlers may take that off its worker.
//
// Each reason has one of its own. A program that handles all of them but one (Go's runtime handles each that it finds) leaves
// that for both: what a signal is for is told by who has sent it, never by its number.
//
// A real-time signal has to be queued, and where that is used up (RLIMIT_SIGPENDING, of all that the user's processes have queued, and
// of their timers) the kernel has none. A thread of ours that would send one then sends SIGURG, the *stand-in* (own_signal_send()): it is
// delivered whatever is queued, and ignored by its default, so one that is still on its way when the program calls exec(), or sets the
// default, does no harm (a handler that it sets just then may be called for it). It is handled, too, where it has its default otherwise. A
// handler of the program's stays, and so does that it is ignored, which goes on across exec(). A timer has its place in the queue from when it
// is made.
// Rejected: another signal than a real-time one for all of it (programs use each of them, and would be told in the best of times).
//
// KLTs do not block the real-time ones, though the program may block all that it can: as the C library leaves its own open.
#pragma once

#include <signal.h>
#include <ucontext.h>

#include <cstdint>

namespace weft::rt {

struct Klt;

enum class OwnSignal { kTick, kReturn };
inline constexpr int kStandIn = SIGURG;
// The value of a timer's signal that is set on who has been in the kernel (block/back.cpp).
inline constexpr int kBackFromKernel = 1;

// Which ones they will be, before there is a KLT. `tick`: as wished; 0: the last that nobody handles, nor awaits.
void own_signals_choose(int tick) noexcept;
// They are not in the set any more.
void own_signals_leave_out(sigset_t& set) noexcept;
// As the kernel has a set. This and the courier's sending: without a call of the C library's.
uint64_t own_signals_mask() noexcept;
// What who began the runtime had blocked: a program waits for such a one by sigwait() or a signalfd, and has no handler.
uint64_t own_signals_awaited() noexcept;

// Handled from here on. Under runtime.setup, or before anybody else knows the runtime. 0: there is none, or it may not be handled.
int own_signal_take(OwnSignal which) noexcept;
void own_signal_give_back(OwnSignal which) noexcept;

// One of them to a KLT's thread, with that code (SI_TKILL, or one of those that a program may send); where it cannot be queued the stand-in, if that is ours there.
// Async-signal-safe.
enum class Sent { kItself, kStandIn, kNothing };
Sent own_signal_send(Klt* klt, int number, int code) noexcept;
// The calling KLT's thread is going to block the stand-in, which others have been told (blocks_stand_in, program_mask; sequentially consistent):
// what they are sending comes first. Whoever waits for one that it has blocked gets the program's alone.
void own_signal_stand_ins_come(Klt* self) noexcept;
// Its handler, which is not the program's.
bool own_signal_is_stand_ins(const void* handler) noexcept;

// For klt/own_action.hpp: the handler of all of them, the stand-in, too. Async-signal-safe.
bool own_signal_put_handler(int signal) noexcept;
bool own_signal_is_handler(const struct sigaction& action) noexcept;
// Where it is there still: the default in its place, or ignored.
void own_signal_remove_handler(int signal, bool ignored) noexcept;

// Whether a KLT that has these blocked is in a handler of the program's: a signal is blocked while it is handled, and what the program
// blocks by pthread_sigmask() is known. Not for sure.
bool own_signals_handler_runs(uint64_t blocked) noexcept;
// In the handler of one: it has interrupted a handler of the program's, which may hold a lock that other handlers wait for, on KLTs that
// they have interrupted in Weft: then it is not the moment to leave. False after some time, whatever it is.
bool own_signal_comes_in_handler(const ucontext_t& frame) noexcept;

// In the handler of one, as it begins, and where it has slept before it returns: what would come then, and is for the main thread, is passed on
// (worker/lender_signal.hpp).
void own_signal_returns_to(const ucontext_t& frame) noexcept;

// In the handler of one of the program's, which another thread gets: a call that it has ended here is to be made again, as after one of ours.
void own_signal_interrupts(const ucontext_t& frame) noexcept;

// One of them brings a KLT the news that its unit has been sent signals (worker/unit_signal.hpp): from here on, for good. Under
// runtime.setup. False: there is none.
bool own_signal_keep_courier() noexcept;
bool own_signal_has_courier() noexcept;
// False: no more can be queued. True where none is wanted yet.
bool own_signal_send_courier(int tid) noexcept;
// One that sends it to that thread, as a timer's; kNoTimer: the kernel refuses it, or there is no courier.
int own_signal_courier_timer(int tid) noexcept;

}  // namespace weft::rt
