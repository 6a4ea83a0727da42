// stack_map.cpp: what the kernel is asked for on behalf of stacks.
#include "unit/stack_map.hpp"

#include <sys/mman.h>

#include <cstdint>
#include <cstring>
#include <new>

#include "base/check.hpp"

namespace weft::rt {
namespace {

// Linux 6.13; not in the headers of the C libraries that we build with.
constexpr int kMadvGuardInstall = 102;

StackOptions options_now;

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
  // What an earlier initialise has left is of another kind.
  if (size != options_now.default_size || guard != options_now.guard ||
      options.watermark != options_now.watermark) {
    stack_release_all();
  }
  options_now = {size, guard, options.watermark};
}

const StackOptions& stack_options() noexcept { return options_now; }

char* stack_memory_map(size_t bytes) noexcept {
  // NORESERVE: a million stacks are more address space than most machines would promise memory for.
  void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
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

Stack* stack_place(char* low, char* high, size_t size) noexcept {
  const auto end = reinterpret_cast<uintptr_t>(high) - sizeof(Stack);
  char* at = high - sizeof(Stack) - (end & 15);
  auto* stack = ::new (at) Stack;
  stack->low = low;
  stack->top = at;
  stack->size = size;
  san::stack_created(stack->san);
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
  stack_memory_drop(low, top_page);
  // The record shares this page.
  std::memset(top_page, 0, static_cast<size_t>(stack->top - top_page));
}

Stack* stack_map(size_t size) noexcept {
  const size_t rounded = round_to_page(size);
  if (rounded < size || rounded + kPage < rounded) return nullptr;
  char* low = stack_memory_map(rounded + kPage);
  if (low == nullptr) return nullptr;
  if (!stack_guard_install(low)) {
    stack_memory_unmap(low, rounded + kPage);
    return nullptr;
  }
  return stack_place(low, low + kPage + rounded, rounded);
}

}  // namespace weft::rt
