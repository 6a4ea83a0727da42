// stack_batch.hpp: stacks of the default size that were mapped together, and the shelves on which
// batches wait for somebody who needs a stack.
//
// A stack of a batch is
//   fresh   never handed out: no guard, no record, no memory
//   cold    guarded; its memory, with the record, was given back (not in huge pages)
//   warm    guarded, with a record and at least its top page
//   out     with somebody: a unit, a worker's cache
//
// Rejected: one list of free stacks, because a burst's stacks come back in any order, and whole
// batches (address space, page tables) could never be found in it again.
#pragma once

#include <cstddef>
#include <cstdint>

#include "unit/stack.hpp"

namespace weft::rt {

// Where a batch lies, in the order in which stacks are taken.
enum class Shelf : uint8_t {
  kNone,   // all its stacks are out, or it is being made or unmapped
  kWarm,   // has warm stacks, and others are out
  kWhole,  // no stack is out: may be unmapped
  kBare,   // others are out; what it has is cold or fresh
};

struct StackBatch {
  // constant while mapped
  char* base = nullptr;
  size_t pitch = 0;   // from one stack to the next
  size_t bytes = 0;
  uint64_t full = 0;  // a bit for each stack
  unsigned node = 0;  // where its memory is to be: where those run who take stacks of it
  bool huge = false;  // made of huge pages: given back as a whole only
  bool canaries = false;  // in place of guards
  // under the global cache's lock
  uint64_t fresh = 0;
  uint64_t cold = 0;
  Stack* warm = nullptr;
  unsigned warm_count = 0;
  unsigned out = 0;
  Shelf shelf = Shelf::kNone;
  StackBatch* next = nullptr;
  StackBatch* prev = nullptr;

  uint64_t bit_of(const Stack* stack) const noexcept {
    return uint64_t{1} << (static_cast<size_t>(stack->low - base) / pitch);
  }
  size_t stacks() const noexcept { return static_cast<size_t>(__builtin_popcountll(full)); }
};

class BatchList {
 public:
  StackBatch* front() const noexcept { return head_; }

  void push_front(StackBatch* batch) noexcept {
    batch->prev = nullptr;
    batch->next = head_;
    if (head_ != nullptr) head_->prev = batch;
    head_ = batch;
  }

  void remove(StackBatch* batch) noexcept {
    (batch->prev != nullptr ? batch->prev->next : head_) = batch->next;
    if (batch->next != nullptr) batch->next->prev = batch->prev;
  }

 private:
  StackBatch* head_ = nullptr;
};

// Maps a batch of stacks as stack_options() says, all fresh, on no shelf. Null: out of memory.
StackBatch* stack_batch_map(unsigned node) noexcept;
// Precondition: no stack of it is out.
void stack_batch_unmap(StackBatch* batch) noexcept;
// The same but for the stack that has this address, if it is one of the batch: that one stays for good.
void stack_batch_unmap_but(StackBatch* batch, const void* address) noexcept;

}  // namespace weft::rt
