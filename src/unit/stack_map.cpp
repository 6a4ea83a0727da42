// stack_map.cpp: what the kernel is asked for on behalf of stacks.
#include "unit/stack_map.hpp"

#include <sys/mman.h>

#include <cstdint>
#include <cstring>
#include <new>

#include "base/check.hpp"
#include "os/numa.hpp"
#include "unit/stack_batch.hpp"
#include "unit/stack_code.hpp"
#include "unit/stack_other.hpp"

namespace weft::rt {
namespace {

// Linux 6.13; not in the headers of the C libraries that we build with.
constexpr int kMadvGuardInstall = 102;

constinit StackOptions options_now;

constexpr uint64_t kHash = 0x9e3779b97f4a7c15;  // 2^64 over the golden ratio

// A cache line of words, since an overflow may step over some. It lies in the upper half of the unused page, in
// another line of it for each stack, or those of all stacks would share a few sets of the caches. An overflow
// that has not reached it has not left the page, and so has done no harm.
constexpr size_t kCanaryWords = 8;

uintptr_t* canary_of(char* low) noexcept {
  constexpr unsigned kColourBits = 5;
  const size_t colour = reinterpret_cast<uintptr_t>(low) / kPage * kHash >> (64 - kColourBits);
  return reinterpret_cast<uintptr_t*>(low + kPage) - kCanaryWords * (colour + 1);
}

// Of each stack others, so that no frame that is copied can look like them.
uintptr_t canary_word(const uintptr_t* at) noexcept { return reinterpret_cast<uintptr_t>(at) ^ kHash; }

bool probe_guards() noexcept {
  char* page = stack_memory_map(kPage);
  if (page == nullptr) return false;
  const bool has = madvise(page, kPage, kMadvGuardInstall) == 0;
  stack_memory_unmap(page, kPage);
  return has;
}

// Four system calls, a tenth of the time of initialise and finalise: asked once.
bool kernel_has_guards() noexcept {
  static const bool has = probe_guards();
  return has;
}

}  // namespace

void stack_setup(const StackOptions& options) noexcept {
  const size_t size = round_to_page(options.default_size);
  GuardKind guard = options.guard;
  if (guard == GuardKind::kMadvise && !kernel_has_guards()) guard = GuardKind::kMprotect;
  const bool code = stack_code_setup();
  // What an earlier initialise has left is of another kind.
  if (size != options_now.default_size || guard != options_now.guard ||
      options.watermark != options_now.watermark || options.pages != options_now.pages || code) {
    stack_release_all();
  }
  options_now = {size, guard, options.watermark, options.pages};
}

const StackOptions& stack_options() noexcept { return options_now; }

char* stack_memory_map(size_t bytes) noexcept {
  // NORESERVE: a million stacks are more address space than most machines would promise memory for.
  void* memory = mmap(nullptr, bytes, stack_protection(),
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);
  if (memory == MAP_FAILED) return nullptr;
  madvise(memory, bytes, MADV_NOHUGEPAGE);  // a kernel without huge pages refuses; that is fine
  return static_cast<char*>(memory);
}

void stack_memory_unmap(char* low, size_t bytes) noexcept {
  san::stack_reused(low, low + bytes);
  WEFT_CHECK(munmap(low, bytes) == 0);
}

void stack_memory_drop(char* low, char* high) noexcept {
  san::stack_reused(low, high);
  WEFT_CHECK(madvise(low, static_cast<size_t>(high - low), MADV_DONTNEED) == 0);
}

bool stack_guard_install(char* low) noexcept {
  switch (options_now.guard) {
    case GuardKind::kMadvise: return madvise(low, kPage, kMadvGuardInstall) == 0;
    case GuardKind::kMprotect: return mprotect(low, kPage, PROT_NONE) == 0;
    case GuardKind::kNone: break;
  }
  return true;
}

__attribute__((no_sanitize("address"))) void stack_canary_install(char* low) noexcept {
  uintptr_t* const words = canary_of(low);
  for (size_t i = 0; i < kCanaryWords; ++i) words[i] = canary_word(words + i);
}

// The frames that ran over it may have been fenced off by ASan.
__attribute__((no_sanitize("address"))) bool stack_canary_intact(const Stack& stack) noexcept {
  const uintptr_t* const words = canary_of(stack.low);
  for (size_t i = 0; i < kCanaryWords; ++i) {
    if (words[i] != canary_word(words + i)) return false;
  }
  return true;
}

Stack* stack_place(char* low, char* high, size_t size) noexcept {
  const auto end = reinterpret_cast<uintptr_t>(high) - sizeof(Stack);
  char* at = high - sizeof(Stack) - (end & 15);
  auto* stack = ::new (at) Stack;
  stack->low = low;
  stack->top = at;
  stack->size = size;
  san::stack_created(stack->san, low, at);
  return stack;
}

void stack_rezero(Stack* stack) noexcept {
  char* const low = stack->low + (stack->foreign ? 0 : kPage);
  char* const top_page = stack->top - (reinterpret_cast<uintptr_t>(stack->top) & (kPage - 1));
  san::stack_reused(low, stack->top);
  if (stack->foreign || top_page <= low) {
    std::memset(low, 0, static_cast<size_t>(stack->top - low));
    return;
  }
  if (stack->batch != nullptr && stack->batch->huge) {
    // Giving back a part would split a huge page.
    const size_t used = stack_used(*stack);
    std::memset(stack->top - used, 0, used);
    return;
  }
  stack_memory_drop(low, top_page);
  // The record shares this page.
  std::memset(top_page, 0, static_cast<size_t>(stack->top - top_page));
}

Stack* stack_map(size_t size) noexcept {
  const size_t rounded = round_to_page(size);
  if (rounded < size || rounded + kPage < rounded) return nullptr;
  if (Stack* stack = stack_other_take(rounded)) return stack;
  char* low = stack_memory_map(rounded + kPage);
  if (low == nullptr) return nullptr;
  if (!stack_guard_install(low)) {
    stack_memory_unmap(low, rounded + kPage);
    return nullptr;
  }
  Stack* stack = stack_place(low, low + kPage + rounded, rounded);
  stack->node = current_node();
  return stack;
}

void stack_unmap(Stack* stack) noexcept {
  san::stack_destroyed(stack->san);
  stack_memory_unmap(stack->low, kPage + stack->size);
}

}  // namespace weft::rt
