// stack_batch.cpp: batches are mapped and unmapped. Their descriptions live apart from them, in
// pages that are never given back (one byte for each stack of the greatest burst).
#include "unit/stack_batch.hpp"

#include <mutex>
#include <new>

#include "base/spin_lock.hpp"
#include "unit/stack_map.hpp"

namespace weft::rt {
namespace {

constexpr size_t kStacks = 64;  // bits of a word; one mmap in 64 creations is not to be noticed
constexpr size_t kMostBytes = size_t{256}
                              << 20;  // of address space, where the user's stacks are big

constinit SpinLock records_lock;
constinit StackBatch* free_records = nullptr;

StackBatch* record_acquire() noexcept {
  std::scoped_lock hold(records_lock);
  if (free_records == nullptr) {
    char* page = stack_memory_map(kPage);
    if (page == nullptr) return nullptr;
    for (size_t at = 0; at + sizeof(StackBatch) <= kPage; at += sizeof(StackBatch)) {
      auto* record = ::new (page + at) StackBatch;
      record->next = free_records;
      free_records = record;
    }
  }
  StackBatch* record = free_records;
  free_records = record->next;
  *record = StackBatch{};
  return record;
}

void record_release(StackBatch* record) noexcept {
  std::scoped_lock hold(records_lock);
  record->next = free_records;
  free_records = record;
}

size_t stacks_of_a_batch(size_t pitch) noexcept {
  const size_t fit = kMostBytes / pitch;
  return fit < 1 ? 1 : fit > kStacks ? kStacks : fit;
}

}  // namespace

StackBatch* stack_batch_map(unsigned node) noexcept {
  StackBatch* batch = record_acquire();
  if (batch == nullptr) return nullptr;
  batch->pitch = stack_options().default_size + 2 * kPage;  // the guard, and room for colours
  size_t stacks = stacks_of_a_batch(batch->pitch);
  batch->base = stack_memory_map(batch->pitch * stacks);
  if (batch->base == nullptr && stacks > 1) {
    stacks = 1;  // address space is nearly used up
    batch->base = stack_memory_map(batch->pitch);
  }
  if (batch->base == nullptr) {
    record_release(batch);
    return nullptr;
  }
  batch->full = ~uint64_t{0} >> (64 - stacks);
  batch->fresh = batch->full;
  batch->node = node;
  return batch;
}

void stack_batch_unmap(StackBatch* batch) noexcept {
  for (Stack* stack = batch->warm; stack != nullptr; stack = stack->next) {
    san::stack_destroyed(stack->san);
  }
  stack_memory_unmap(batch->base, batch->bytes());
  record_release(batch);
}

}  // namespace weft::rt
