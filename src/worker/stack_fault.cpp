#include "worker/stack_fault.hpp"

#include <cstdint>

#include "klt/klt.hpp"
#include "os/peek.hpp"
#include "unit/stack_code.hpp"
#include "unit/stack_map.hpp"
#include "unit/unit.hpp"
#include "worker/runtime.hpp"
#include "worker/worker.hpp"

namespace weft::rt {
namespace {

constexpr long kFetched = 0x10;  // of x86's page faults: an instruction

// A stack's record is above its frames.
struct NearestAbove {
  uintptr_t address;
  const Stack* stack = nullptr;
  void look(const Stack* other) noexcept {
    const auto at = reinterpret_cast<uintptr_t>(other);
    if (at > address && (stack == nullptr || other < stack)) stack = other;
  }
};

const Stack* nearest_above(uintptr_t address) noexcept {
  NearestAbove nearest{address};
  unit_for_each([](Unit* unit, void* to) { static_cast<NearestAbove*>(to)->look(unit->stack); }, &nearest);
  const unsigned slots = runtime.worker_slots.load(std::memory_order_acquire);
  for (unsigned i = 0; i < slots; ++i) {
    if (const Worker* worker = runtime.workers[i].load(std::memory_order_acquire)) nearest.look(worker->sched_stack);
  }
  return nearest.stack;
}

// It may be that of another ULT, which waits or runs elsewhere.
bool allow_on_stack(uintptr_t address) noexcept {
  for (uintptr_t from = address;;) {
    const Stack* const nearest = nearest_above(from);
    if (nearest == nullptr) return false;
    const Peek<Stack> stack(nearest);
    const bool lies_in_it = stack && reinterpret_cast<const char*>(nearest) == stack->top;
    const bool has_address = stack && address - reinterpret_cast<uintptr_t>(stack->low) < static_cast<size_t>(stack->top - stack->low);
    if (lies_in_it || (has_address && stack->part)) {
      return address >= reinterpret_cast<uintptr_t>(stack->low) + kPage && stack_code_allow(*stack.get());
    }
    from = reinterpret_cast<uintptr_t>(nearest);  // the record of a thread's own, or of one that has just been given back
  }
}

// Schedulers and tasklets.
bool allow_on_base(uintptr_t address) noexcept {
  struct Search {
    uintptr_t address;
    const Klt* found = nullptr;
  } search{address};
  klt_for_each(
      [](Klt* klt, void* context) {
        auto* s = static_cast<Search*>(context);
        if (klt->memory != nullptr && s->address - reinterpret_cast<uintptr_t>(klt->memory) < klt->memory_bytes) s->found = klt;
      },
      &search);
  const Klt* klt = search.found;
  return klt != nullptr && stack_code_allow(klt->memory + kPage, klt->memory + klt->memory_bytes);
}

}  // namespace

bool stack_fault_is_code(const siginfo_t& info, const ucontext_t& frame) noexcept {
  if (info.si_code != SEGV_ACCERR || (frame.uc_mcontext.gregs[REG_ERR] & kFetched) == 0) return false;
  const auto address = reinterpret_cast<uintptr_t>(info.si_addr);
  return stack_code_is_asked_for() && (allow_on_stack(address) || allow_on_base(address));
}

}  // namespace weft::rt
