// unit_cache.cpp: where descriptors come from.
//
// The kernel gives slabs; slabs give new descriptors, a few at a time, because each first touch of
// a page costs more than creating ten units; freed ones wait in the workers' stocks and, by the
// chunk, in a global list. A slab is never unmapped before unit_slabs_release(), so a stale pointer
// to a descriptor can always be looked at and says kFree, or is another unit.
//
// Near memory: new descriptors are constructed, and their pages so touched first, by the worker that wants
// them; each NUMA node has a slab of its own for that (a huge page lies on one node), and a list of chunks.
// The chunks of other nodes come before new ones: units that are made here and always end
// there would take more and more memory.
//
// A chunk is a list of free descriptors through `next`, with its length in `slot` of its head,
// which links to the next chunk through `prev`: a worker takes or leaves hundreds without walking
// them.
#include <sys/mman.h>

#include <mutex>
#include <new>

#include "base/spin_lock.hpp"
#include "os/numa.hpp"
#include "sanitizer_switch.hpp"
#include "unit/unit.hpp"

namespace weft::rt {
namespace {

constexpr size_t kSlabBytes = size_t{256} << 10;
constexpr unsigned kMadeAtOnce = 32;  // two pages

// The places of a slab are numbered by units; the first one is the head.
struct alignas(Unit) Slab {
  Slab* next;     // constant once it is the first one
  size_t bytes;   // constant
  unsigned end;   // constant: how many places it has
  std::atomic<unsigned> made;  // under `lock`; read by anybody: [kFirstPlace, made) are constructed
  Unit* units() noexcept { return reinterpret_cast<Unit*>(this); }
};
static_assert(sizeof(Slab) <= sizeof(Unit));
constexpr unsigned kFirstPlace = 1;

constinit SpinLock lock;
constinit std::atomic<Slab*> slabs{nullptr};  // newest first
struct NodeStock {
  Slab* slab;    // that has descriptors to make, or is used up; null: none yet
  Unit* chunks;
};
constinit NodeStock stocks[kNodes] = {};  // under `lock`
constinit unsigned nodes_used = 1;        // under `lock`: no chunk is in a stock from here on
constinit PageKind pages = PageKind::kOrdinary;

unsigned chunk_length(const Unit* head) noexcept {
  return head->slot.load(std::memory_order_relaxed);
}

void set_chunk_length(Unit* head, unsigned length) noexcept {
  head->slot.store(length, std::memory_order_relaxed);
}

// All of these: lock held.

void push_chunk(unsigned node, Unit* head, unsigned length) noexcept {
  set_chunk_length(head, length);
  head->prev = stocks[node].chunks;
  stocks[node].chunks = head;
  if (nodes_used <= node) nodes_used = node + 1;
}

Unit* pop_chunk(unsigned node) noexcept {
  Unit* head = stocks[node].chunks;
  for (unsigned i = 0; head == nullptr && i < nodes_used; ++i) head = stocks[node = i].chunks;
  if (head != nullptr) stocks[node].chunks = head->prev;
  return head;
}

Slab* add_slab() noexcept {
  const bool huge = pages != PageKind::kOrdinary;
  const size_t bytes = huge ? kHugePage : kSlabBytes;
  void* memory = huge ? huge_pages_map(bytes, pages, PROT_READ | PROT_WRITE)
                      : mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == nullptr || memory == MAP_FAILED) return nullptr;
  san::pointers_begin(memory, bytes);
  const auto end = static_cast<unsigned>(bytes / sizeof(Unit));
  auto* slab = ::new (memory) Slab{slabs.load(std::memory_order_relaxed), bytes, end, {kFirstPlace}};
  // Release, pairs with the acquire in unit_for_each(): the slab's head is written.
  slabs.store(slab, std::memory_order_release);
  return slab;
}

// Constructs a chunk of new descriptors. Null: out of memory.
Unit* make_chunk(unsigned node) noexcept {
  Slab*& slab = stocks[node].slab;
  if (slab == nullptr || slab->made.load(std::memory_order_relaxed) == slab->end) {
    Slab* const fresh = add_slab();
    if (fresh == nullptr) return nullptr;
    slab = fresh;
  }
  const unsigned from = slab->made.load(std::memory_order_relaxed);
  const unsigned to = slab->end - from < kMadeAtOnce ? slab->end : from + kMadeAtOnce;
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

constinit std::atomic<void (*)() noexcept> teller{nullptr};

void tell() noexcept {
  if (teller.load(std::memory_order_relaxed) == nullptr) return;
  if (const auto tell_it = teller.exchange(nullptr, std::memory_order_relaxed)) tell_it();
}

}  // namespace

void unit_setup(PageKind kind) noexcept { pages = kind; }

void unit_tell_of_next(void (*tell)() noexcept) noexcept { teller.store(tell, std::memory_order_relaxed); }

Unit* UnitCache::refill() noexcept {
  tell();
  const unsigned node = current_node();
  Unit* chunk;
  {
    std::scoped_lock hold(lock);
    chunk = pop_chunk(node);
    if (chunk == nullptr) chunk = make_chunk(node);
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
  const unsigned node = current_node();
  std::scoped_lock hold(lock);
  push_chunk(node, chunk, length);
}

void UnitCache::drain() noexcept {
  if (head == nullptr) return;
  {
    const unsigned node = current_node();
    std::scoped_lock hold(lock);
    push_chunk(node, head, count);
  }
  head = nullptr;
  count = 0;
}

void unit_make_ahead(unsigned n) noexcept {
  const unsigned node = current_node();
  std::scoped_lock hold(lock);
  const auto lacks = [&] {
    const Slab* slab = stocks[node].slab;
    const unsigned made = slab != nullptr ? slab->made.load(std::memory_order_relaxed) : 0;
    return slab == nullptr || (made < n && made < slab->end);
  };
  while (lacks()) {
    Unit* chunk = make_chunk(node);
    if (chunk == nullptr) return;
    push_chunk(node, chunk, chunk_length(chunk));
  }
}

Unit* unit_acquire_global() noexcept {
  tell();
  const unsigned node = current_node();
  std::scoped_lock hold(lock);
  Unit* unit = pop_chunk(node);
  if (unit == nullptr) unit = make_chunk(node);
  if (unit == nullptr) return nullptr;
  if (unit->next != nullptr) push_chunk(node, unit->next, chunk_length(unit) - 1);
  return unit;
}

void unit_release_global(Unit* unit) noexcept {
  if constexpr (kDebugBuild) {
    if ((unit = unit_quarantine(unit)) == nullptr) return;
  }
  const unsigned node = current_node();
  std::scoped_lock hold(lock);
  unsigned length = 1;
  unit->next = nullptr;
  const Unit* const newest = stocks[node].chunks;
  if (newest != nullptr && chunk_length(newest) < UnitCache::kBatch) {
    Unit* rest = pop_chunk(node);
    length += chunk_length(rest);
    unit->next = rest;
  }
  push_chunk(node, unit, length);
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
    for (unsigned i = kFirstPlace; i < made; ++i) {
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
    san::pointers_end(slab, slab->bytes);
    WEFT_CHECK(munmap(slab, slab->bytes) == 0);
    slab = next;
  }
  for (NodeStock& stock : stocks) stock = {};
  nodes_used = 1;
  for (Unit*& unit : quarantine.units) unit = nullptr;
  quarantine.at = 0;
}

// ---- for debuggers --------------------------------------------------------------------------------

namespace {

// UnitCold::own, a part of the last word.
constexpr size_t kOwnByte = sizeof(UnitCold) - sizeof(uint64_t) + 48 / 8;

constexpr DebugField kFields[] = {
    {"slabs", &slabs, 0},
    {"slab.next", nullptr, offsetof(Slab, next)},
    {"slab.made", nullptr, offsetof(Slab, made)},
    {"slab.units", nullptr, 0},
    {"slab.first", nullptr, kFirstPlace},
    {"unit.size", nullptr, sizeof(Unit)},
    {"unit.state", nullptr, offsetof(Unit, state)},
    {"unit.flags", nullptr, offsetof(Unit, flags)},
    {"unit.fn", nullptr, offsetof(Unit, fn)},
    {"unit.host", nullptr, offsetof(Unit, host)},
    {"unit.pool", nullptr, offsetof(Unit, pool)},
    {"unit.wait_kind", nullptr, offsetof(Unit, slot)},
    {"unit.wait_object", nullptr, offsetof(Unit, wait_object)},
    {"unit.wait_since", nullptr, offsetof(Unit, wait_since)},
    {"unit.sp", nullptr, offsetof(Unit, context) + offsetof(Context, sp)},
    {"unit.ip", nullptr, offsetof(Unit, context) + offsetof(Context, ip)},
    {"unit.bp", nullptr, offsetof(Unit, context) + offsetof(Context, bp)},
    {"unit.captive", nullptr, offsetof(Unit, captive)},
    {"unit.identity", nullptr, offsetof(Unit, identity)},
    {"unit.own", nullptr, offsetof(Unit, cold) + kOwnByte},
    {"unit.id", nullptr, offsetof(Unit, cold) + offsetof(UnitCold, id)},
    {"unit.name", nullptr, offsetof(Unit, cold) + offsetof(UnitCold, core.name)},
    {"unit.name_size", nullptr, sizeof(UnitCold::core.name)},
    {"flag.tasklet", nullptr, flag::kTasklet},
    {"flag.primary", nullptr, flag::kPrimary},
    {"flag.named", nullptr, flag::kNamed},
    {"flag.own_state", nullptr, flag::kOwnState},
    {"own.identity", nullptr, own::kIdentity},
    {"state.free", nullptr, static_cast<uint64_t>(UnitState::kFree)},
    {"state.fresh", nullptr, static_cast<uint64_t>(UnitState::kFresh)},
    {"state.running", nullptr, static_cast<uint64_t>(UnitState::kRunning)},
    {"state.ready", nullptr, static_cast<uint64_t>(UnitState::kReady)},
    {"state.blocked", nullptr, static_cast<uint64_t>(UnitState::kBlocked)},
    {"state.terminated", nullptr, static_cast<uint64_t>(UnitState::kTerminated)},
};

}  // namespace

constinit const DebugPart unit_debug_part{kFields, sizeof kFields / sizeof kFields[0]};

}  // namespace weft::rt
