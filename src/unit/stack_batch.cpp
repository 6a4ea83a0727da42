// stack_batch.cpp: batches are mapped and unmapped. Their descriptions live apart from them, in
// pages that are never given back (one byte for each stack of the greatest burst).
#include "unit/stack_batch.hpp"

#include <mutex>
#include <new>

#include "base/spin_lock.hpp"
#include "unit/stack_code.hpp"
#include "unit/stack_map.hpp"

namespace weft::rt {
namespace {

constexpr size_t kStacks = 64;  // bits of a word; one mmap in 64 creations is not to be noticed
constexpr size_t kMostBytes = size_t{256} << 20;  // of address space, where the user's stacks are big
constexpr size_t kMostHugeBytes = size_t{8} << 20;  // less: those from the pool are lost to others at once

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

size_t limit(size_t stacks) noexcept { return stacks < 1 ? 1 : stacks > kStacks ? kStacks : stacks; }

bool map_ordinary(StackBatch& batch) noexcept {
  batch.pitch = stack_options().default_size + 2 * kPage;  // the guard, and room for colours
  size_t stacks = limit(kMostBytes / batch.pitch);
  batch.base = stack_memory_map(batch.pitch * stacks);
  if (batch.base == nullptr && stacks > 1) {
    stacks = 1;  // address space is nearly used up
    batch.base = stack_memory_map(batch.pitch);
  }
  batch.bytes = batch.pitch * stacks;
  batch.full = ~uint64_t{0} >> (64 - stacks);
  return batch.base != nullptr;
}

// Whole huge pages, of which the stacks get all. One that is larger than a huge page starts with one, where its
// guard splits a page that is hardly ever used; in pages of the pool there are no guards.
bool map_huge(StackBatch& batch) noexcept {
  const PageKind kind = stack_options().pages;
  const size_t least = stack_options().default_size + 2 * kPage;
  const bool large = least > kHugePage;
  const size_t pitch = large ? round_to_huge_page(least) : least;
  const size_t fit = limit(kMostHugeBytes / pitch);
  batch.bytes = round_to_huge_page(pitch * fit);
  const size_t stacks = limit(batch.bytes / pitch);
  batch.pitch = large ? pitch : batch.bytes / stacks & ~(kPage - 1);
  batch.full = ~uint64_t{0} >> (64 - stacks);
  batch.huge = true;
  batch.canaries = stack_options().guard != GuardKind::kNone && (!large || kind == PageKind::kExplicit);
  batch.base = huge_pages_map(batch.bytes, kind, stack_protection());
  return batch.base != nullptr;
}

}  // namespace

StackBatch* stack_batch_map(unsigned node) noexcept {
  StackBatch* batch = record_acquire();
  if (batch == nullptr) return nullptr;
  const bool huge = stack_options().pages != PageKind::kOrdinary;
  if (!(huge ? map_huge(*batch) : map_ordinary(*batch))) {
    record_release(batch);
    return nullptr;
  }
  batch->fresh = batch->full;
  batch->node = node;
  return batch;
}

void stack_batch_unmap(StackBatch* batch) noexcept {
  for (Stack* stack = batch->warm; stack != nullptr; stack = stack->next) {
    san::stack_destroyed(stack->san);
  }
  stack_memory_unmap(batch->base, batch->bytes);
  record_release(batch);
}

void stack_batch_unmap_but(StackBatch* batch, const void* address) noexcept {
  const auto offset = static_cast<size_t>(static_cast<const char*>(address) - batch->base);
  if (offset >= batch->bytes) return stack_batch_unmap(batch);
  size_t low = offset / batch->pitch * batch->pitch;
  size_t high = low + batch->pitch;
  if (batch->huge) {  // the kernel unmaps those of the pool as a whole only
    low = low / kHugePage * kHugePage;
    high = round_to_huge_page(high);
  }
  if (low > 0) stack_memory_unmap(batch->base, low);
  if (high < batch->bytes) stack_memory_unmap(batch->base + high, batch->bytes - high);
  record_release(batch);
}

}  // namespace weft::rt
