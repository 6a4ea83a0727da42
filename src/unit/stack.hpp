// stack.hpp: where a ULT, a scheduler or a KLT's base loop keeps its frames.
//
//   low                                                              top
//    | guard page | free ........................ frames <- | Stack record |
//
// Weft's stacks are mapped in batches and never split a mapping where the kernel has
// MADV_GUARD_INSTALL, so that millions fit under vm.max_map_count. The record shares the top page
// with the first frames: a suspended ULT with shallow frames keeps one page.
//
// A guard in a huge page would split it, or is refused. In its place such a stack has a page that nobody
// uses, with a canary in it that is looked at when the stack is given back (docs/memory.md).
#pragma once

#include <cstddef>
#include <cstdint>

#include "os/huge_pages.hpp"
#include "sanitizer_switch.hpp"

namespace weft::rt {

struct StackBatch;

struct Stack {
  // constant
  char* low = nullptr;      // lowest address, guard included
  char* top = nullptr;      // 16-byte aligned; frames grow down from here
  size_t size = 0;          // bytes asked for, guard excluded
  bool cached = false;      // may go straight into a StackCache; else: StackCache::retire()
  bool canary = false;      // in place of a guard
  bool foreign = false;     // memory of the caller, or a thread's own stack: never unmapped by us
  bool part = false;        // of another one, with which it is unmapped
  StackBatch* batch = nullptr;  // that it was mapped with; null: not of the default size
  unsigned node = 0;            // not of the default size: where it was mapped
  // whoever holds the stack
  san::StackState san;
  Stack* next = nullptr;    // in a cache

  size_t usable() const noexcept { return static_cast<size_t>(top - low); }
};

enum class GuardKind : uint8_t { kMadvise, kMprotect, kNone };

struct StackOptions {
  size_t default_size = 128 * 1024;
  GuardKind guard = GuardKind::kMadvise;
  bool watermark = false;
  PageKind pages = PageKind::kOrdinary;  // of the default-sized ones
};

// Chooses the kind of guard that the kernel offers. Called once per initialise.
void stack_setup(const StackOptions& options) noexcept;
const StackOptions& stack_options() noexcept;

// A stack of the default size, near the CPU that the caller runs on. Null: out of memory. Precondition: guard
// up, or not a KLT.
Stack* stack_acquire() noexcept;
void stack_release(Stack* stack) noexcept;

// Another size. Null: out of memory. Precondition as above.
Stack* stack_map(size_t size) noexcept;
// The caller's memory [low, low + size).
Stack* stack_over(void* low, size_t size) noexcept;
// The stack that the calling thread runs on, between two addresses.
void stack_adopt(Stack& record, char* low, char* top) noexcept;

// The lower part of a stack of ours, up to an address; above it somebody else is at work.
void stack_part(Stack& record, const Stack& whole, char* top) noexcept;

// Gives a stack back to where it came from, whatever its kind.
void stack_dispose(Stack* stack) noexcept;

// False: something ran over the low end of a stack with a canary.
bool stack_canary_intact(const Stack& stack) noexcept;
inline bool stack_intact(const Stack& stack) noexcept { return !stack.canary || stack_canary_intact(stack); }

// Bytes between the top and the lowest byte that has ever been written (watermark option).
size_t stack_used(const Stack& stack) noexcept;

// One worker's stock of default-sized stacks, and some of one other size; owner worker only.
struct StackCache {
  Stack* head = nullptr;
  unsigned count = 0;
  Stack* others = nullptr;  // all of one size
  unsigned other_count = 0;
  static constexpr unsigned kMost = 320;  // beyond it half goes to the global cache: 256 in flight fit
  static constexpr unsigned kBatch = 64;  // refill from the global cache
  static constexpr size_t kMostOtherBytes = size_t{64} << 20;
  static constexpr unsigned kMostOthers = 64, kFewestOthers = 4;

  Stack* pop() noexcept {
    Stack* stack = head;
    if (__builtin_expect(stack == nullptr, 0)) return refill();
    head = stack->next;
    --count;
    return stack;
  }
  void push(Stack* stack) noexcept {
    stack->next = head;
    head = stack;
    if (__builtin_expect(++count > kMost, 0)) spill();
  }
  // As stack_map(); one of its own, if it has one of that size.
  Stack* pop_other(size_t size) noexcept;
  void drain() noexcept;  // everything to the global cache
  void drain_others() noexcept;
  // A stack that is not `cached`: here if that is allowed, else where it came from.
  void retire(Stack* stack) noexcept;

 private:
  bool keep_other(Stack* stack) noexcept;
  Stack* refill() noexcept;
  void spill() noexcept;
};

// Gives back memory of cached stacks that a burst has left, some per call. Called by idle workers.
// True: there is more to give back.
bool stack_trim() noexcept;
// Unmaps everything. Precondition: no stack of ours is in use.
void stack_release_all() noexcept;

// Gives back memory of a stack that nobody is on, but for what most need. Of one that no option concerns: not of the default size.
void stack_shed(Stack& stack) noexcept;

// In a forked child: unmaps all stacks of the default size but the one that has this address, which is
// nobody's from then on; nobody has a stack.
void stack_forget_all_but(const void* address) noexcept;

// True if `address` lies in the guard of the given stack.
bool stack_in_guard(const Stack& stack, const void* address) noexcept;

}  // namespace weft::rt
