// stack.cpp: what can be asked of, and done with, a stack of whatever kind.
#include "unit/stack.hpp"

#include <cstdint>

#include "unit/stack_map.hpp"
#include "unit/stack_other.hpp"

namespace weft::rt {

Stack* stack_over(void* low, size_t size) noexcept {
  auto* const bottom = static_cast<char*>(low);
  Stack* stack = stack_place(bottom, bottom + size, size);
  stack->foreign = true;
  if (stack_options().watermark) stack_rezero(stack);
  return stack;
}

void stack_adopt(Stack& record, char* low, char* top) noexcept {
  record = Stack{};
  record.low = low;
  record.top = top;
  record.size = static_cast<size_t>(top - low);
  record.foreign = true;
  san::stack_adopted(record.san);
}

void stack_part(Stack& record, const Stack& whole, char* top) noexcept {
  record = Stack{};
  record.low = whole.low;
  record.top = top;
  record.size = static_cast<size_t>(top - whole.low) - kPage;
  record.part = true;
  san::stack_created(record.san, record.low, top);
}

void stack_shed(Stack& stack) noexcept {
  constexpr size_t kLeft = 32 * 1024;
  char* const low = stack.low + kPage;
  char* const high = stack.top - kLeft - (reinterpret_cast<uintptr_t>(stack.top) & (kPage - 1));
  if (high > low) stack_memory_drop(low, high);
}

void stack_dispose(Stack* stack) noexcept {
  if (stack->part) {
    if (stack_options().watermark) stack_rezero(stack);
    return;
  }
  if (stack->batch != nullptr) {
    if (stack_options().watermark) stack_rezero(stack);
    stack_release(stack);
    return;
  }
  if (stack->foreign) {
    san::stack_destroyed(stack->san);
    san::stack_reused(stack->low, stack->top);
    return;
  }
  // With the watermark on it has to be all zeros the next time.
  if (stack_options().watermark || !stack_other_keep(stack)) stack_unmap(stack);
}

// Reads memory that its owner may be writing, and frames that ASan has fenced off.
__attribute__((no_sanitize("address"), no_sanitize("thread"))) size_t
stack_used(const Stack& stack) noexcept {
  // A thread's own stack (its record lies elsewhere) was not zero when it came to us.
  const bool adopted = stack.foreign && &stack != reinterpret_cast<const Stack*>(stack.top);
  if (!stack_options().watermark || adopted) return 0;
  const char* low = stack.low + (stack.foreign ? 0 : kPage);
  low += -reinterpret_cast<uintptr_t>(low) & (sizeof(uintptr_t) - 1);
  auto* word = reinterpret_cast<const volatile uintptr_t*>(low);
  auto* const end = reinterpret_cast<const volatile uintptr_t*>(stack.top);
  // Pages that were never written are mapped to the kernel's one page of zeros: this costs no
  // memory.
  while (word < end && *word == 0) ++word;
  return static_cast<size_t>(stack.top - reinterpret_cast<const volatile char*>(word));
}

bool stack_in_guard(const Stack& stack, const void* address) noexcept {
  if (stack.foreign || stack.canary || stack_options().guard == GuardKind::kNone) return false;
  const auto distance =
      reinterpret_cast<uintptr_t>(address) - reinterpret_cast<uintptr_t>(stack.low);
  return stack.low != nullptr && distance < kPage;
}

}  // namespace weft::rt
