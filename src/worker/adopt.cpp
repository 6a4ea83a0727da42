// adopt.cpp: how a kernel thread's flow of control gets into a ULT.
//
// The unit is made as one that has suspended itself, with the thread's own context. Nobody may resume it before that is
// complete and the thread has left its stack and its thread-local storage; the thread itself cannot do it afterwards, because
// whatever it calls would use what is no longer its own. So a ULT is made before, which waits for the thread's last store and
// resumes the unit.
//
//   thread                                    publisher (a ULT)
//   blocks signals, gives up rseq
//   saves its context, changes its stack
//   left = 1, becomes the lender     ───────► sees left (acquire), resumes the unit
//
// Rejected: the thread as one more carrier (as many KLTs run as there are such threads); as the primary ULT (it is bound to
// its KLT, which nobody else may use while ULTs can be captured: every wait changes the KLT).
#include "worker/adopt.hpp"

#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <mutex>
#include <new>

#include "api/handles.hpp"
#include "identity/lender.hpp"
#include "identity/set_id.hpp"
#include "klt/own_signal.hpp"
#include "os/clock.hpp"
#include "os/kernel_tid.hpp"
#include "os/scheduling.hpp"
#include "worker/identity.hpp"
#include "worker/lender_signal.hpp"
#include "worker/runtime.hpp"
#include "worker/worker.hpp"

namespace weft::rt {
namespace {

constexpr uint32_t kLeft = 1;
constexpr uint32_t kRefused = 2;
// A handler of the C library's own may run on it, whose frame takes up to 12 KiB where the processor has tiles.
constexpr size_t kSleepStack = 32 * 1024;

// It lasts as long as the process.
struct Adoption {
  Unit* unit = nullptr;
  Identity identity{};
  Stack stack;
  FutexWord left{0};  // the thread: kLeft, its last store; or kRefused
  alignas(64) char sleep_stack[kSleepStack];
};

// Not instrumented, and nothing in it may touch thread-local storage.
[[noreturn]] __attribute__((noinline, no_sanitize("address", "thread", "undefined"))) void stay_as_lender(
    void* adoption_arg, void*, void*, void*) noexcept {
  auto* adoption = static_cast<Adoption*>(adoption_arg);
  have_short_slice();  // who is not back in time for the next signal of the process leaves that to any other thread
  adoption->left.store(kLeft, std::memory_order_release);
  lender_serve_adopted(adoption->identity);
}

void publish(void* adoption_arg) noexcept {
  auto* adoption = static_cast<Adoption*>(adoption_arg);
  while (adoption->left.load(std::memory_order_acquire) == 0) weft_yield();
  if (adoption->left.load(std::memory_order_relaxed) == kLeft) {
    weft_resume(to_handle(adoption->unit));
  } else {
    delete adoption;
  }
}

void describe_identity(Identity& identity) noexcept {
  identity.thread_pointer = thread_pointer();
  identity.lender = pthread_self();
  identity.tid = kernel_tid();
  identity.adopted = true;
  identity.waker = own_signal_courier_timer(identity.tid);
  identity.fresh = false;
  size_t size = 0;
  syscall(SYS_get_robust_list, 0, &identity.robust, &size);
}

// As one that has suspended itself.
Unit* make_unit(Adoption& adoption, Pool* home) noexcept {
  const bool in_gate = section_enter() == nullptr;
  Unit* unit = unit_acquire_global();
  if (unit != nullptr) {
    unit->identity = &adoption.identity;
    adoption.identity.unit.store(unit, std::memory_order_release);
    adoption.identity.owns_fp = true;
    unit->cold.core.fp = fp_save();
    unit->cold.own = own::kIdentity | own::kFp;
    unit->stack = &adoption.stack;
    unit->pool.store(home != nullptr ? home : foreign_home(), std::memory_order_relaxed);
    unit->joiner.store(kJoinTaken, std::memory_order_relaxed);
    unit->inside.store(0, std::memory_order_relaxed);
    const uint32_t flags = flag::kOwnState | flag::kCold | flag::kOwnStack | (home != nullptr ? flag::kPinned : 0);
    unit_set_header(unit, unit_header_of(UnitState::kFresh, static_cast<uint16_t>(flags), WEFT_PRIORITY_DEFAULT,
                                         home != nullptr));
    unit->exit_frame = nullptr;  // it does not end
    unit->host = unit;
    unit->claim_floor.store(kNoClaim, std::memory_order_relaxed);
    unit_transition(unit, UnitState::kRunning);
    unit_note_wait(unit, WaitKind::kSuspend, nullptr, coarse_now_ns());
    unit_transition(unit, UnitState::kBlocked);
    unit->token.store(kTokenParked, std::memory_order_relaxed);
  }
  if (in_gate) section_leave(nullptr);
  return unit;
}

// From its return on the caller is the ULT.
[[gnu::noinline]] void change_over(Adoption& adoption) noexcept {
  Unit* unit = adoption.unit;
  adoption.identity.mask.store(lender_block_signals() & ~own_signals_mask(), std::memory_order_relaxed);
  rseq_unregister(adoption.identity.thread_pointer);
  klt_register_presume();
  char* top = adoption.sleep_stack + kSleepStack;
  context_switch_to_entry(&unit->context, top, stay_as_lender, &adoption, nullptr, nullptr, nullptr);
  san::after_switch(adoption.stack.san);
  Worker* worker = guard_worker();
  enter_own(unit);
  guard_leave(worker);
}

}  // namespace

const char* adopt_unsupported() noexcept { return identity_unsupported(); }

int adopt_caller(Pool* home) noexcept {
  if (!runtime_running()) return WEFT_ERR_UNINITIALIZED;
  if (klt_register_valid()) return WEFT_ERR_CONTEXT;
  if (adopt_unsupported() != nullptr) return WEFT_ERR_UNSUPPORTED;
  {
    std::lock_guard hold(runtime.setup);
    set_id_take();
    static_cast<void>(own_signal_keep_courier());  // without one it gets signals when it next leaves a worker and goes on
  }
  auto* adoption = new (std::nothrow) Adoption;
  if (adoption == nullptr) return WEFT_ERR_NO_MEMORY;
  adopt_stack(adoption->stack, kernel_tid() == getpid());
  describe_identity(adoption->identity);
  weft_unit_attr_t attr = WEFT_UNIT_ATTR_INIT;
  attr.preemption = WEFT_PREEMPTION_NONE;
  if (const int error = weft_ult_create(publish, adoption, &attr, nullptr); error != WEFT_OK) {
    delete adoption;
    return error;
  }
  adoption->unit = make_unit(*adoption, home);
  if (adoption->unit == nullptr) {
    adoption->left.store(kRefused, std::memory_order_release);
    return WEFT_ERR_NO_MEMORY;
  }
  identity_mark_setup();
  identity_mark(pthread_self(), &adoption->identity);
  Worker* none = section_enter();
  identity_list(&adoption->identity);
  section_leave(none);
  change_over(*adoption);
  return WEFT_OK;
}

}  // namespace weft::rt
