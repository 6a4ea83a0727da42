// stack_other.cpp: stacks of other sizes than the default one, between one use and the next.
//
// A program that wants another size wants it for thousands of ULTs, one after the other: an OpenMP library 4 MiB for each
// thread of each region. Mapping, guarding and unmapping is four system calls, and a page
// fault for each page that is touched again: 5 µs, where a cached one is 20 ns. Most have one such size; for
// more than kSizes, those that come later are unmapped as before.
//
// Each worker has a stock of its own before this one (StackCache): where several workers start and end such ULTs all the time, they
// fetched this lock and its lists from each other, a tenth of the time of an OpenMP region on BOLT.
#include "unit/stack_other.hpp"

#include <mutex>

#include "base/spin_lock.hpp"
#include "os/numa.hpp"
#include "unit/stack_map.hpp"

namespace weft::rt {
namespace {

constexpr unsigned kSizes = 4;
constexpr unsigned kMost = 256;               // of a size and node
constexpr size_t kKeep = size_t{8} << 20;     // bytes of them that trimming leaves, as of the default size
constexpr unsigned kTrimAtOnce = 16;

struct OneSize {
  size_t size = 0;
  Stack* head = nullptr;
  unsigned count = 0;
};

struct OtherStacks {
  // any thread, under `lock`
  SpinLock lock;
  OneSize kept[kNodes][kSizes];
  size_t bytes = 0;  // of all
};

constinit OtherStacks others;

// All of these: lock held.

// Null: there are stacks of kSizes other sizes.
OneSize* find(unsigned node, size_t size) noexcept {
  OneSize* unused = nullptr;
  for (OneSize& one : others.kept[node]) {
    if (one.size == size) return &one;
    if (one.count == 0) unused = &one;
  }
  if (unused != nullptr) unused->size = size;
  return unused;
}

Stack* take(OneSize& one) noexcept {
  Stack* stack = one.head;
  if (stack == nullptr) return nullptr;
  one.head = stack->next;
  --one.count;
  others.bytes -= one.size;
  return stack;
}

Stack* take_beyond(size_t left) noexcept {
  if (others.bytes <= left) return nullptr;
  for (auto& node : others.kept) {
    for (OneSize& one : node) {
      if (Stack* stack = take(one)) return stack;
    }
  }
  return nullptr;
}

// From here on: lock not held.

// Unmaps up to `most` of those that make more than `left` bytes. True: there are more.
bool unmap_beyond(size_t left, unsigned most) noexcept {
  for (unsigned i = 0; i < most; ++i) {
    Stack* stack;
    {
      std::scoped_lock hold(others.lock);
      stack = take_beyond(left);
    }
    if (stack == nullptr) return false;
    stack_unmap(stack);
  }
  std::scoped_lock hold(others.lock);
  return others.bytes > left;
}

}  // namespace

Stack* stack_other_take(size_t size) noexcept {
  const unsigned node = current_node();
  std::scoped_lock hold(others.lock);
  OneSize* one = find(node, size);
  return one != nullptr ? take(*one) : nullptr;
}

bool stack_other_keep(Stack* stack) noexcept {
  std::scoped_lock hold(others.lock);
  OneSize* one = find(stack->node, stack->size);
  if (one == nullptr || one->count == kMost) return false;
  stack->next = one->head;
  one->head = stack;
  ++one->count;
  others.bytes += one->size;
  return true;
}

bool stack_other_trim() noexcept { return unmap_beyond(kKeep, kTrimAtOnce); }

void stack_other_release_all() noexcept {
  while (unmap_beyond(0, kTrimAtOnce)) {
  }
}

}  // namespace weft::rt
