// stack_cache.cpp: stacks of the default size: the global cache, the workers' stocks, and how a
// burst's memory is given back.
//
// A fresh stack is guarded, and its record written, when it is first handed out and not before: a
// program pays for the stacks that it uses (the guard's system call and one touched page), and
// initialising pays for none. Nothing is mapped or unmapped under the lock
// while the runtime is up.
//
// Trimming. Stacks are taken from batches that others use already, so that after a burst most
// batches are whole; these are unmapped, which frees address space and page tables as well. Warm
// stacks in batches that cannot be unmapped because one long-lived stack is out get cold one by
// one. Rejected: MADV_DONTNEED of all but the record's page (it keeps exactly the page that most
// stacks have); MADV_FREE (the memory still counts as resident, so nobody sees that it was given
// back).
#include <mutex>

#include "base/check.hpp"
#include "base/spin_lock.hpp"
#include "unit/stack_batch.hpp"
#include "unit/stack_map.hpp"

namespace weft::rt {
namespace {

constexpr size_t kKeepWarm = 64;      // what trimming leaves: the next small burst is free
constexpr unsigned kTrimAtOnce = 32;  // some 30 µs

struct GlobalCache {
  // any thread, under `lock`
  SpinLock lock;
  BatchList shelves[4];  // by Shelf; [kNone] holds batches without a free stack
  size_t warm_total = 0;
};

constinit GlobalCache cache;

BatchList& shelf(Shelf which) noexcept { return cache.shelves[static_cast<size_t>(which)]; }

// All of these: lock held.

Shelf shelf_for(const StackBatch* batch) noexcept {
  if (batch->out == 0) return Shelf::kWhole;
  if (batch->warm != nullptr) return Shelf::kWarm;
  return (batch->fresh | batch->cold) != 0 ? Shelf::kBare : Shelf::kNone;
}

void put_on_shelf(StackBatch* batch, Shelf where) noexcept {
  batch->shelf = where;
  shelf(where).push_front(batch);
}

void refile(StackBatch* batch) noexcept {
  const Shelf where = shelf_for(batch);
  if (where == batch->shelf) return;
  shelf(batch->shelf).remove(batch);
  put_on_shelf(batch, where);
}

void put_warm(Stack* stack) noexcept {
  StackBatch* batch = stack->batch;
  stack->next = batch->warm;
  batch->warm = stack;
  ++batch->warm_count;
  --batch->out;
  ++cache.warm_total;
  refile(batch);
}

Stack* take_warm() noexcept {
  if (cache.warm_total == 0) return nullptr;
  StackBatch* batch = shelf(Shelf::kWarm).front();
  if (batch == nullptr) {
    batch = shelf(Shelf::kWhole).front();
    while (batch->warm == nullptr) batch = batch->next;  // warm_total > 0: there is one
  }
  Stack* stack = batch->warm;
  batch->warm = stack->next;
  --batch->warm_count;
  ++batch->out;
  --cache.warm_total;
  refile(batch);
  return stack;
}

// A stack that has no record yet.
struct Slot {
  StackBatch* batch = nullptr;
  uint64_t bit = 0;
  bool guarded = false;
};

Slot take_slot(StackBatch* batch) noexcept {
  Slot slot{batch, 0, batch->cold != 0};
  uint64_t& stock = slot.guarded ? batch->cold : batch->fresh;
  slot.bit = stock & -stock;
  stock &= ~slot.bit;
  ++batch->out;
  refile(batch);
  return slot;
}

void put_slot(const Slot& slot) noexcept {
  (slot.guarded ? slot.batch->cold : slot.batch->fresh) |= slot.bit;
  --slot.batch->out;
  refile(slot.batch);
}

// From here on: lock not held.

Stack* make_stack(Slot slot) noexcept {
  StackBatch* batch = slot.batch;
  const auto index = static_cast<size_t>(__builtin_ctzll(slot.bit));
  char* low = batch->base + index * batch->pitch;
  if (!slot.guarded && !stack_guard_install(low)) {
    std::scoped_lock hold(cache.lock);
    put_slot(slot);
    return nullptr;
  }
  // Colours: the hot end of each stack lies at another offset in its page, or those of all stacks
  // would share a few sets of the first-level cache. Half a page is left to the first frames.
  constexpr size_t kColours = 32;
  constexpr size_t kLine = 64;
  const size_t colour = index * 7 % kColours * kLine;
  Stack* stack = stack_place(low, low + batch->pitch - colour, stack_options().default_size);
  stack->batch = batch;
  // With the watermark on it has to be made zero again first, which stack_dispose() does.
  stack->cached = !stack_options().watermark;
  return stack;
}

Stack* acquire_from_new_batch() noexcept {
  StackBatch* batch = stack_batch_map();
  if (batch == nullptr) return nullptr;
  Slot slot;
  {
    std::scoped_lock hold(cache.lock);
    put_on_shelf(batch, shelf_for(batch));
    slot = take_slot(batch);
  }
  return make_stack(slot);
}

void chill(Stack* stack) noexcept {
  StackBatch* batch = stack->batch;
  const Slot slot{batch, batch->bit_of(stack), true};
  char* const low = stack->low + kPage;
  san::stack_destroyed(stack->san);
  stack_memory_drop(low, stack->low + batch->pitch);
  std::scoped_lock hold(cache.lock);
  put_slot(slot);
}

// A whole batch that can go without leaving less than kKeepWarm; off its shelf. Null: none.
StackBatch* take_surplus_batch() noexcept {
  std::scoped_lock hold(cache.lock);
  StackBatch* batch = shelf(Shelf::kWhole).front();
  if (batch == nullptr) return nullptr;
  if (batch->warm != nullptr && cache.warm_total < batch->warm_count + kKeepWarm) return nullptr;
  shelf(Shelf::kWhole).remove(batch);
  cache.warm_total -= batch->warm_count;
  return batch;
}

Stack* take_surplus_stack() noexcept {
  std::scoped_lock hold(cache.lock);
  return cache.warm_total > kKeepWarm ? take_warm() : nullptr;
}

bool surplus_left() noexcept {
  std::scoped_lock hold(cache.lock);
  const StackBatch* whole = shelf(Shelf::kWhole).front();
  return cache.warm_total > kKeepWarm || (whole != nullptr && whole->warm == nullptr);
}

}  // namespace

Stack* stack_acquire() noexcept {
  Slot slot;
  {
    std::scoped_lock hold(cache.lock);
    if (Stack* stack = take_warm()) return stack;
    StackBatch* batch = shelf(Shelf::kBare).front();
    if (batch == nullptr) batch = shelf(Shelf::kWhole).front();
    if (batch != nullptr) slot = take_slot(batch);
  }
  return slot.batch != nullptr ? make_stack(slot) : acquire_from_new_batch();
}

void stack_release(Stack* stack) noexcept {
  WEFT_DCHECK(stack->batch != nullptr);
  std::scoped_lock hold(cache.lock);
  put_warm(stack);
}

bool stack_trim() noexcept {
  if (StackBatch* batch = take_surplus_batch()) {
    stack_batch_unmap(batch);
    return surplus_left();
  }
  for (unsigned i = 0; i < kTrimAtOnce; ++i) {
    Stack* stack = take_surplus_stack();
    if (stack == nullptr) break;
    chill(stack);
  }
  return surplus_left();
}

void stack_release_all() noexcept {
  std::scoped_lock hold(cache.lock);
  for (BatchList& list : cache.shelves) {
    while (StackBatch* batch = list.front()) {
      list.remove(batch);
      stack_batch_unmap(batch);
    }
  }
  cache.warm_total = 0;
}

Stack* StackCache::refill() noexcept {
  {
    std::scoped_lock hold(cache.lock);
    while (count < kBatch) {
      Stack* stack = take_warm();
      if (stack == nullptr) break;
      stack->next = head;
      head = stack;
      ++count;
    }
  }
  if (head == nullptr) return stack_acquire();
  Stack* stack = head;
  head = stack->next;
  --count;
  return stack;
}

void StackCache::spill() noexcept {
  // The newest stay: they are the ones still in this core's caches.
  Stack* last = head;
  for (unsigned i = 1; i < kMost / 2; ++i) last = last->next;
  Stack* rest = last->next;
  last->next = nullptr;
  count = kMost / 2;
  std::scoped_lock hold(cache.lock);
  while (rest != nullptr) {
    Stack* stack = rest;
    rest = stack->next;
    put_warm(stack);
  }
}

void StackCache::drain() noexcept {
  std::scoped_lock hold(cache.lock);
  while (head != nullptr) {
    Stack* stack = head;
    head = stack->next;
    put_warm(stack);
  }
  count = 0;
}

}  // namespace weft::rt
