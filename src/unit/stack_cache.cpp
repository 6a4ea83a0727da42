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
// back). A batch of huge pages is given back as a whole or not at all.
//
// Each NUMA node has shelves of its own. A batch belongs to the node where it was mapped, and its stacks
// come back there, whoever returns them. A worker takes from its own node, rather from a new batch than
// from another node, and from others only when there is no memory for one.
#include <algorithm>
#include <mutex>
#include <utility>

#include "base/check.hpp"
#include "base/spin_lock.hpp"
#include "os/numa.hpp"
#include "unit/stack_batch.hpp"
#include "unit/stack_map.hpp"
#include "unit/stack_other.hpp"

namespace weft::rt {
namespace {

constexpr size_t kKeepWarm = 64;      // what trimming leaves: the next small burst is free
constexpr unsigned kTrimAtOnce = 32;  // some 30 µs

struct NodeCache {
  BatchList shelves[4];  // by Shelf; [kNone] holds batches without a free stack
  size_t warm_total = 0;

  BatchList& shelf(Shelf which) noexcept { return shelves[static_cast<size_t>(which)]; }
};

struct GlobalCache {
  // any thread, under `lock`
  SpinLock lock;
  NodeCache nodes[kNodes];
  unsigned nodes_used = 1;  // no batch is of a node from here on
};

constinit GlobalCache cache;

NodeCache& home_of(const StackBatch* batch) noexcept { return cache.nodes[batch->node]; }

// All of these: lock held.

Shelf shelf_for(const StackBatch* batch) noexcept {
  if (batch->out == 0) return Shelf::kWhole;
  if (batch->warm != nullptr) return Shelf::kWarm;
  return (batch->fresh | batch->cold) != 0 ? Shelf::kBare : Shelf::kNone;
}

void put_on_shelf(StackBatch* batch, Shelf where) noexcept {
  batch->shelf = where;
  home_of(batch).shelf(where).push_front(batch);
}

void refile(StackBatch* batch) noexcept {
  const Shelf where = shelf_for(batch);
  if (where == batch->shelf) return;
  home_of(batch).shelf(batch->shelf).remove(batch);
  put_on_shelf(batch, where);
}

void put_warm(Stack* stack) noexcept {
  StackBatch* batch = stack->batch;
  stack->next = batch->warm;
  batch->warm = stack;
  ++batch->warm_count;
  --batch->out;
  ++home_of(batch).warm_total;
  refile(batch);
}

Stack* take_warm(NodeCache& node) noexcept {
  if (node.warm_total == 0) return nullptr;
  StackBatch* batch = node.shelf(Shelf::kWarm).front();
  if (batch == nullptr) {
    batch = node.shelf(Shelf::kWhole).front();
    while (batch->warm == nullptr) batch = batch->next;  // warm_total > 0: there is one
  }
  Stack* stack = batch->warm;
  batch->warm = stack->next;
  --batch->warm_count;
  ++batch->out;
  --node.warm_total;
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

// A warm stack, or a slot to make one of. Neither: the node has none.
Stack* take_any(NodeCache& node, Slot& slot) noexcept {
  if (Stack* stack = take_warm(node)) return stack;
  StackBatch* batch = node.shelf(Shelf::kBare).front();
  if (batch == nullptr) batch = node.shelf(Shelf::kWhole).front();
  if (batch != nullptr) slot = take_slot(batch);
  return nullptr;
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
  if (batch->canaries) {
    stack_canary_install(low);
  } else if (!slot.guarded && !stack_guard_install(low)) {
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
  stack->canary = batch->canaries;
  // With the watermark on it has to be made zero again first, which stack_dispose() does; a canary is to be
  // looked at.
  stack->cached = !stack_options().watermark && !stack->canary;
  return stack;
}

Stack* acquire_from_new_batch(unsigned node) noexcept {
  StackBatch* batch = stack_batch_map(node);
  if (batch == nullptr) return nullptr;
  Slot slot;
  {
    std::scoped_lock hold(cache.lock);
    if (cache.nodes_used <= node) cache.nodes_used = node + 1;
    put_on_shelf(batch, shelf_for(batch));
    slot = take_slot(batch);
  }
  return make_stack(slot);
}

// Out of memory: what other nodes have left.
Stack* acquire_from_afar() noexcept {
  Slot slot;
  {
    std::scoped_lock hold(cache.lock);
    for (unsigned i = 0; i < cache.nodes_used && slot.batch == nullptr; ++i) {
      if (Stack* stack = take_any(cache.nodes[i], slot)) return stack;
    }
  }
  return slot.batch != nullptr ? make_stack(slot) : nullptr;
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

// All of these: lock held.

// A whole batch that can go without leaving less than kKeepWarm. Null: none.
StackBatch* surplus_batch(NodeCache& node) noexcept {
  StackBatch* batch = node.shelf(Shelf::kWhole).front();
  if (batch == nullptr) return nullptr;
  if (batch->warm != nullptr && node.warm_total < batch->warm_count + kKeepWarm) return nullptr;
  return batch;
}

bool can_chill() noexcept { return stack_options().pages == PageKind::kOrdinary; }

bool node_has_surplus(NodeCache& node) noexcept {
  return surplus_batch(node) != nullptr || (can_chill() && node.warm_total > kKeepWarm);
}

// From here on: lock not held.

// Off its shelf.
StackBatch* take_surplus_batch() noexcept {
  std::scoped_lock hold(cache.lock);
  for (unsigned i = 0; i < cache.nodes_used; ++i) {
    NodeCache& node = cache.nodes[i];
    if (StackBatch* batch = surplus_batch(node)) {
      node.shelf(Shelf::kWhole).remove(batch);
      node.warm_total -= batch->warm_count;
      return batch;
    }
  }
  return nullptr;
}

Stack* take_surplus_stack() noexcept {
  if (!can_chill()) return nullptr;
  std::scoped_lock hold(cache.lock);
  for (unsigned i = 0; i < cache.nodes_used; ++i) {
    if (cache.nodes[i].warm_total > kKeepWarm) return take_warm(cache.nodes[i]);
  }
  return nullptr;
}

bool surplus_left() noexcept {
  std::scoped_lock hold(cache.lock);
  for (unsigned i = 0; i < cache.nodes_used; ++i) {
    if (node_has_surplus(cache.nodes[i])) return true;
  }
  return false;
}

}  // namespace

Stack* stack_acquire() noexcept {
  const unsigned node = current_node();
  Slot slot;
  {
    std::scoped_lock hold(cache.lock);
    if (Stack* stack = take_any(cache.nodes[node], slot)) return stack;
  }
  if (slot.batch != nullptr) return make_stack(slot);
  Stack* stack = acquire_from_new_batch(node);
  return stack != nullptr ? stack : acquire_from_afar();
}

void stack_release(Stack* stack) noexcept {
  WEFT_DCHECK(stack->batch != nullptr);
  std::scoped_lock hold(cache.lock);
  put_warm(stack);
}

bool stack_trim() noexcept {
  if (StackBatch* batch = take_surplus_batch()) {
    stack_batch_unmap(batch);
    return true;
  }
  const bool others_left = stack_other_trim();
  for (unsigned i = 0; i < kTrimAtOnce; ++i) {
    Stack* stack = take_surplus_stack();
    if (stack == nullptr) break;
    chill(stack);
  }
  return surplus_left() || others_left;
}

void stack_release_all() noexcept {
  stack_other_release_all();
  std::scoped_lock hold(cache.lock);
  for (NodeCache& node : cache.nodes) {
    for (BatchList& list : node.shelves) {
      while (StackBatch* batch = list.front()) {
        list.remove(batch);
        stack_batch_unmap(batch);
      }
    }
    node.warm_total = 0;
  }
  cache.nodes_used = 1;
}

void stack_forget_all_but(const void* address) noexcept {
  stack_other_release_all();
  for (NodeCache& node : cache.nodes) {
    for (BatchList& list : node.shelves) {
      while (StackBatch* batch = list.front()) {
        list.remove(batch);
        stack_batch_unmap_but(batch, address);
      }
    }
    node.warm_total = 0;
  }
  cache.nodes_used = 1;
}

Stack* StackCache::refill() noexcept {
  const unsigned node = current_node();
  {
    std::scoped_lock hold(cache.lock);
    while (count < kBatch) {
      Stack* stack = take_warm(cache.nodes[node]);
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

Stack* StackCache::pop_other(size_t size) noexcept {
  Stack* stack = others;
  if (stack == nullptr || stack->size != round_to_page(size)) return stack_map(size);
  others = stack->next;
  --other_count;
  return stack;
}

bool StackCache::keep_other(Stack* stack) noexcept {
  if (stack->batch != nullptr || stack->foreign || (others != nullptr && others->size != stack->size)) return false;
  if (other_count >= std::clamp<size_t>(kMostOtherBytes / stack->size, kFewestOthers, kMostOthers)) return false;
  stack->next = others;
  others = stack;
  ++other_count;
  return true;
}

void StackCache::retire(Stack* stack) noexcept {
  const bool again = !stack_options().watermark;  // with it a stack has to be all zeros the next time
  if (stack->canary && again) {
    push(stack);
  } else if (!again || !keep_other(stack)) {
    stack_dispose(stack);
  }
}

void StackCache::drain_others() noexcept {
  while (others != nullptr) stack_dispose(std::exchange(others, others->next));
  other_count = 0;
}

void StackCache::drain() noexcept {
  drain_others();
  std::scoped_lock hold(cache.lock);
  while (head != nullptr) {
    Stack* stack = head;
    head = stack->next;
    put_warm(stack);
  }
  count = 0;
}

}  // namespace weft::rt
