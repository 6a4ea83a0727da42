// jump.cpp: longjmp() and its kin, by which a handler of a signal may leave.
//
// Two things are a ULT's that the C library does not know of. The mask after the jump is noted, as pthread_sigmask()'s is. And where the handler
// has interrupted Weft the jump is put off until the ULT has left that: see worker/put_off_jump.hpp. What a jump leads out of is told by the
// unwinder: a frame of the kernel's is one that its caller finds interrupted.
//
// Out of the handler of a fault in Weft it is not: see give_up_section().
//
//   here | the handler's frames | frame of the kernel's | frames of what it has interrupted ... | another frame of the kernel's | ...
//
// Not told, and as ever: out of handlers that were compiled without tables for unwinding, or have switched stacks; and out of one into another one
// that has called Weft.
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <ucontext.h>
#include <unwind.h>

#include <cstring>

#include "arch/frame.hpp"
#include "arch/jump.hpp"
#include "identity/identity.hpp"
#include "intercept/next.hpp"
#include "intercept/program_mask.hpp"
#include "klt/guard.hpp"
#include "klt/klt.hpp"
#include "klt/no_preemption.hpp"
#include "klt/own_signal.hpp"
#include "klt/program_signals.hpp"
#include "os/kernel_tid.hpp"
#include "os/overflow.hpp"
#include "os/signal_mask.hpp"
#include "unit/unit.hpp"
#include "worker/put_off_jump.hpp"
#include "worker/signal_stack.hpp"

using namespace weft::rt;

namespace {

using LongJump = void(__jmp_buf_tag*, int);
constinit Next<LongJump> next_longjmp{"longjmp"}, next_longjmp_too{"_longjmp"}, next_siglongjmp{"siglongjmp"}, next_checked{"__longjmp_chk"};

[[gnu::constructor]] void find_next() noexcept {
  next_longjmp.find();
  next_longjmp_too.find();
  next_siglongjmp.find();
  next_checked.find();
}

// ---- out of what ------------------------------------------------------------------------------------

struct Search {
  const uintptr_t there;             // where the jump leads to
  uintptr_t from;                    // the frames up to the next one of the kernel's begin here
  uintptr_t last = 0;                // of the frame that was seen last: the stack pointer
  bool found = false;                // that it leads to there
  ucontext_t* left = nullptr;        // the innermost frame of the kernel's that it leads out of
  unsigned others = 0;               // how many it does not lead out of
};

_Unwind_Reason_Code see(_Unwind_Context* context, void* search_arg) noexcept {
  auto& search = *static_cast<Search*>(search_arg);
  int interrupted = 0;
  static_cast<void>(_Unwind_GetIPInfo(context, &interrupted));
  if (interrupted != 0) {  // by the one that was seen last
    auto* frame = reinterpret_cast<ucontext_t*>(search.last);
    search.found |= search.there >= search.from && search.there < search.last;
    if (search.found) ++search.others;
    if (!search.found && search.left == nullptr) search.left = frame;
    search.from = static_cast<uintptr_t>(frame_general(*frame, REG_RSP));
  }
  search.last = _Unwind_GetCFA(context);
  return _URC_NO_REASON;
}

enum class Jump { kOutOfNothing, kOutOfAll, kWithinHandler };

struct Look {
  Jump jump;
  ucontext_t* left;
};

bool leads_to(const Stack* stack, const __jmp_buf_tag& target) noexcept { return stack != nullptr && is_on(*stack, jump_stack_pointer(target)); }

// own: the ULT's stack, if it is known.
[[gnu::noinline]] Look look(const __jmp_buf_tag& target, const Stack* own) noexcept {
  Search search{.there = jump_stack_pointer(target), .from = reinterpret_cast<uintptr_t>(__builtin_frame_address(0))};
  _Unwind_Backtrace(see, &search);
  if (search.others != 0) return {Jump::kWithinHandler, nullptr};
  // A switch may have been interrupted on another one's stack, with this ULT's identity already.
  if (search.left == nullptr || (search.there < search.from && !leads_to(own, target))) return {Jump::kOutOfNothing, nullptr};
  return {Jump::kOutOfAll, search.left};
}

// ---- the mask ---------------------------------------------------------------------------------------

uint64_t counts() noexcept { return ~(own_signals_mask() | signal_bit(SIGKILL) | signal_bit(SIGSTOP)); }
uint64_t noted() noexcept { return klt_self()->program_mask.load(std::memory_order_relaxed) & counts(); }
uint64_t saved(const __jmp_buf_tag& target) noexcept { return kernel_set(target.__saved_mask) & counts(); }

bool changes_mask(const __jmp_buf_tag& target) noexcept {
  if (target.__mask_was_saved != 0) return saved(target) != noted();
  return program_has_handlers() && (signal_mask_here() & counts()) != noted();
}

void set_saved(const __jmp_buf_tag& target) noexcept {
  if (target.__mask_was_saved != 0) pthread_sigmask(SIG_SETMASK, &target.__saved_mask, nullptr);
}

// ---- put off ----------------------------------------------------------------------------------------

// What was interrupted may have noted its own mask last.
void make(const PutOffJump& jump) noexcept {
  program_handles_fault = nullptr;
  program_mask_is(signal_mask_here() & counts());
  set_saved(jump.target);
  __jmp_buf_tag target = jump.target;
  next_siglongjmp.get()(&target, jump.value);
}

// Until the jump the handler is as if it had not ended: what it has blocked stays so.
[[noreturn]] void put_off(Identity& identity, __jmp_buf_tag* target, int value, ucontext_t& left, uint64_t mask) noexcept {
  program_handles_fault = nullptr;
  put_off_jump(identity, {make, *target, value});
  const uint64_t blocked = kernel_set(left.uc_sigmask) | mask;
  std::memcpy(&left.uc_sigmask, &blocked, sizeof blocked);
  frame_return(left);
}

// The ULT's that runs here, or is on its way to or from here, with all that is thread-local; null: it has no identity.
Unit* unit_here(const Identity* identity) noexcept {
  return identity != nullptr ? identity->unit.load(std::memory_order_acquire) : nullptr;
}

// The ULT is on that KLT, and in Weft.
void put_off_here(Klt& klt, Identity& identity, const Unit& unit, __jmp_buf_tag* target, int value, ucontext_t& left) noexcept {
  if (!leads_to(unit.stack, *target)) return;
  const uint64_t mask = change_mask_here(SIG_SETMASK, ~uint64_t{0}) & counts();
  program_mask_note(klt, &identity, mask);
  klt.attention.fetch_or(attention::kSignals, std::memory_order_relaxed);
  put_off(identity, target, value, left, mask);
}

// Of a fault of Weft's own, at an address that it was given, which would come again if the jump were put off: what Weft was at is given up, half
// done, as in any library.
void give_up_section() noexcept {
  Klt* self = klt_self();
  self->own.load(std::memory_order_relaxed)->mutex.store(0, std::memory_order_release);
  klt_register_store32<kKltGuard>(kGuardDown);  // what others want is seen the next time: here nothing may be suspended
}

// On a lender, in the ULT's place: that waits, and is kept away.
void put_off_on_lender(Identity& identity, const Unit& unit, __jmp_buf_tag* target, int value, ucontext_t& left) noexcept {
  if (!leads_to(unit.stack, *target) || jump_stack_pointer(*target) < reinterpret_cast<uintptr_t>(unit.context.sp)) return;
  identity.mask.store(change_mask_here(SIG_SETMASK, ~uint64_t{0}) & counts(), std::memory_order_seq_cst);
  put_off(identity, target, value, left, ~uint64_t{0});
}

// No KLT, as it seems: but a KLT may be at work as if it were none (AsThread), and a lender runs handlers in its ULT's place.
void before_jump_elsewhere(__jmp_buf_tag* target, int value) noexcept {
  Identity* identity = identity_of(pthread_self());
  const Unit* unit = unit_here(identity);
  if (unit == nullptr) return;
  const Look found = look(*target, unit->stack);
  if (found.jump != Jump::kOutOfAll) return;
  Klt* on = identity->on.load(std::memory_order_acquire);
  const int tid = kernel_tid();
  if (on != nullptr && on->tid.load(std::memory_order_relaxed) == tid) {
    put_off_here(*on, *identity, *unit, target, value, *found.left);
  } else if (tid == identity->tid && (unit->requests.load(std::memory_order_acquire) & kAwayRequest) != 0) {
    put_off_on_lender(*identity, *unit, target, value, *found.left);
  }
}

// ---- at once ----------------------------------------------------------------------------------------

// In a section; or in a scope that holds a lock of Weft's, and is not to be left.
bool is_in_weft() noexcept { return klt_is_inside_here() || klt_register_load<kKltNoPreemption, uint32_t>() % kMayLeave != 0; }

void before_jump(__jmp_buf_tag* target, int value) noexcept {
  if (!klt_register_valid()) return before_jump_elsewhere(target, value);
  Identity* identity = identity_of(pthread_self());
  const Unit* unit = unit_here(identity);
  const bool inside = is_in_weft();
  const bool changes = changes_mask(*target), another = unit != nullptr && identity->jumps.load(std::memory_order_relaxed);
  if (__builtin_expect(!inside && !changes && !another && program_handles_fault == nullptr, 1)) return;
  const Look found = look(*target, unit != nullptr ? unit->stack : nullptr);
  if (found.jump == Jump::kWithinHandler) return;  // its end restores the mask of before it
  if (found.jump == Jump::kOutOfAll) {
    const bool out_of_fault = program_handles_fault == found.left;
    if (inside && !out_of_fault && unit != nullptr) put_off_here(*klt_self(), *identity, *unit, target, value, *found.left);
    program_handles_fault = nullptr;
    if (another) drop_jump(*identity);
    if (inside && out_of_fault) give_up_section();
    if (changes) program_mask_is(signal_mask_here() & counts());
  }
  if (changes) set_saved(*target);
}

// The C library would ask the kernel for the alternate stack, and take one of the program's for an error.
bool is_on_programs_stack() noexcept {
  const stack_t& stack = program_alternate_stack;
  const auto from_low = reinterpret_cast<uintptr_t>(__builtin_frame_address(0)) - reinterpret_cast<uintptr_t>(stack.ss_sp);
  return klt_register_valid() && (stack.ss_flags & SS_DISABLE) == 0 && from_low < stack.ss_size;
}

[[noreturn]] void jump(Next<LongJump>& next, __jmp_buf_tag* target, int value) noexcept {
  before_jump(target, value);
  next.get()(target, value);
  __builtin_unreachable();
}

}  // namespace

// By other names here: the header's are marked as what they are, and may mean another one of these.
#pragma GCC visibility push(default)
extern "C" {

[[noreturn]] void weft_rt_longjmp(__jmp_buf_tag* target, int value) asm("longjmp");
[[noreturn]] void weft_rt_longjmp_too(__jmp_buf_tag* target, int value) asm("_longjmp");
[[noreturn]] void weft_rt_siglongjmp(__jmp_buf_tag* target, int value) asm("siglongjmp");
[[noreturn]] void weft_rt_longjmp_checked(__jmp_buf_tag* target, int value) asm("__longjmp_chk");

void weft_rt_longjmp(__jmp_buf_tag* target, int value) { jump(next_longjmp, target, value); }
void weft_rt_longjmp_too(__jmp_buf_tag* target, int value) { jump(next_longjmp_too, target, value); }
void weft_rt_siglongjmp(__jmp_buf_tag* target, int value) { jump(next_siglongjmp, target, value); }
void weft_rt_longjmp_checked(__jmp_buf_tag* target, int value) {
  jump(is_on_programs_stack() ? next_siglongjmp : next_checked, target, value);
}

}  // extern "C"
#pragma GCC visibility pop
