// unit_cache.cpp: where descriptors come from.
//
// The kernel gives slabs; slabs give new descriptors, a few at a time, because each first touch of
// a page costs more than creating ten units; freed ones wait in the workers' stocks and, by the
// chunk, in a global list. A slab is never unmapped before unit_slabs_release(), so a stale pointer
// to a descriptor can always be looked at and says kFree, or is another unit.
//
// A chunk is a list of free descriptors through `next`, with its length in `slot` of its head,
// which links to the next chunk through `prev`: a worker takes or leaves hundreds without walking
// them.
#include <sys/mman.h>

#include <mutex>
#include <new>

#include "base/spin_lock.hpp"
#include "unit/unit.hpp"

namespace weft::rt {
namespace {

constexpr size_t kSlabBytes = size_t{256} << 10;
constexpr unsigned kMadeAtOnce = 32;  // two pages

struct alignas(64) Slab {
  Slab* next;                  // constant once it is the first one
  std::atomic<unsigned> made;  // under `lock`; read by anybody: [0, made) are constructed
  Unit* units() noexcept { return reinterpret_cast<Unit*>(this + 1); }
};

constexpr unsigned kSlabUnits = (kSlabBytes - sizeof(Slab)) / sizeof(Unit);

constinit SpinLock lock;
constinit std::atomic<Slab*> slabs{nullptr};  // newest first; only it has descriptors to make
constinit Unit* chunks = nullptr;             // under `lock`

unsigned chunk_length(const Unit* head) noexcept {
  return head->slot.load(std::memory_order_relaxed);
}

void set_chunk_length(Unit* head, unsigned length) noexcept {
  head->slot.store(length, std::memory_order_relaxed);
}

// All of these: lock held.

void push_chunk(Unit* head, unsigned length) noexcept {
  set_chunk_length(head, length);
  head->prev = chunks;
  chunks = head;
}

Unit* pop_chunk() noexcept {
  Unit* head = chunks;
  if (head != nullptr) chunks = head->prev;
  return head;
}

Slab* add_slab() noexcept {
  void* memory =
      mmap(nullptr, kSlabBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return nullptr;
  auto* slab = ::new (memory) Slab{slabs.load(std::memory_order_relaxed), {0}};
  // Release, pairs with the acquire in unit_for_each(): the slab's head is written.
  slabs.store(slab, std::memory_order_release);
  return slab;
}

// Constructs a chunk of new descriptors. Null: out of memory.
Unit* make_chunk() noexcept {
  Slab* slab = slabs.load(std::memory_order_relaxed);
  if (slab == nullptr || slab->made.load(std::memory_order_relaxed) == kSlabUnits) {
    slab = add_slab();
    if (slab == nullptr) return nullptr;
  }
  const unsigned from = slab->made.load(std::memory_order_relaxed);
  const unsigned to = kSlabUnits - from < kMadeAtOnce ? kSlabUnits : from + kMadeAtOnce;
  Unit* head = nullptr;
  for (unsigned i = to; i-- > from;) {
    Unit* unit = ::new (slab->units() + i) Unit;
    unit->next = head;
    head = unit;
  }
  set_chunk_length(head, to - from);
  // Release, pairs with the acquire in unit_for_each(): these are constructed.
  slab->made.store(to, std::memory_order_release);
  return head;
}

struct Quarantine {
  static constexpr unsigned kLength = 4096;
  SpinLock lock;
  Unit* units[kLength] = {};
  unsigned at = 0;  // the oldest
};

constinit Quarantine quarantine;

}  // namespace

Unit* UnitCache::refill() noexcept {
  Unit* chunk;
  {
    std::scoped_lock hold(lock);
    chunk = pop_chunk();
    if (chunk == nullptr) chunk = make_chunk();
  }
  if (chunk == nullptr) return nullptr;
  head = chunk->next;
  count = chunk_length(chunk) - 1;
  return chunk;
}

void UnitCache::spill() noexcept {
  // The newest stay: they are the ones still in this core's caches.
  Unit* last = head;
  for (unsigned i = 1; i < kMost - kBatch; ++i) last = last->next;
  Unit* chunk = last->next;
  last->next = nullptr;
  const unsigned length = count - (kMost - kBatch);
  count = kMost - kBatch;
  std::scoped_lock hold(lock);
  push_chunk(chunk, length);
}

void UnitCache::drain() noexcept {
  if (head == nullptr) return;
  {
    std::scoped_lock hold(lock);
    push_chunk(head, count);
  }
  head = nullptr;
  count = 0;
}

Unit* unit_acquire_global() noexcept {
  std::scoped_lock hold(lock);
  Unit* unit = pop_chunk();
  if (unit == nullptr) unit = make_chunk();
  if (unit == nullptr) return nullptr;
  if (unit->next != nullptr) push_chunk(unit->next, chunk_length(unit) - 1);
  return unit;
}

void unit_release_global(Unit* unit) noexcept {
  if constexpr (kDebugBuild) {
    if ((unit = unit_quarantine(unit)) == nullptr) return;
  }
  std::scoped_lock hold(lock);
  unsigned length = 1;
  unit->next = nullptr;
  if (chunks != nullptr && chunk_length(chunks) < UnitCache::kBatch) {
    Unit* rest = pop_chunk();
    length += chunk_length(rest);
    unit->next = rest;
  }
  push_chunk(unit, length);
}

Unit* unit_quarantine(Unit* unit) noexcept {
  WEFT_CHECK(unit_state(unit) == UnitState::kFree);
  std::scoped_lock hold(quarantine.lock);
  Unit*& oldest = quarantine.units[quarantine.at];
  quarantine.at = (quarantine.at + 1) % Quarantine::kLength;
  Unit* kept = oldest;
  oldest = unit;
  // Nobody may have changed its state meanwhile: that would be a use after free.
  WEFT_CHECK(kept == nullptr || unit_state(kept) == UnitState::kFree);
  return kept;
}

void unit_for_each(void (*f)(Unit*, void*), void* context) noexcept {
  // No lock: this also runs while a program crashes. Slabs are only ever added.
  for (Slab* slab = slabs.load(std::memory_order_acquire); slab != nullptr; slab = slab->next) {
    const unsigned made = slab->made.load(std::memory_order_acquire);
    for (unsigned i = 0; i < made; ++i) {
      Unit* unit = slab->units() + i;
      if (unit_state(unit) != UnitState::kFree) f(unit, context);
    }
  }
}

void unit_slabs_release() noexcept {
  std::scoped_lock hold(lock, quarantine.lock);
  Slab* slab = slabs.exchange(nullptr, std::memory_order_relaxed);
  while (slab != nullptr) {
    Slab* next = slab->next;
    WEFT_CHECK(munmap(slab, kSlabBytes) == 0);
    slab = next;
  }
  chunks = nullptr;
  for (Unit*& unit : quarantine.units) unit = nullptr;
  quarantine.at = 0;
}

}  // namespace weft::rt
