// local.cpp: unit-local storage. A table of 16 blocks of 32 values each, made as they are needed: a
// unit that uses a key or two pays for one block. No lock: a table is used by its unit alone.
#include "unit/local.hpp"

#include <pthread.h>

#include <cstdlib>

#include "klt/klt.hpp"
#include "unit/unit.hpp"

namespace weft::rt {
namespace {

constexpr unsigned kBlockValues = 32;
constexpr unsigned kBlocks = kMostKeys / kBlockValues;
// As POSIX has it: destructors may set values again; somewhere it has to end.
constexpr int kDestructorRounds = 4;

constinit weft_key keys[kMostKeys];

struct Value {
  void* value;
  uint32_t generation;
};

unsigned index_of(const weft_key* key) noexcept { return static_cast<unsigned>(key - keys); }

}  // namespace

struct LocalTable {
  Value* blocks[kBlocks];
  Value first[kBlockValues];  // whichever block is needed first lies here: one allocation in all
  bool first_used;
};

namespace {

Value* find(LocalTable* table, unsigned index) noexcept {
  if (table == nullptr) return nullptr;
  Value* block = table->blocks[index / kBlockValues];
  return block != nullptr ? block + index % kBlockValues : nullptr;
}

// Null: out of memory. The guard is down: malloc() may wait for a lock.
Value* find_or_make(LocalTable*& table, unsigned index) noexcept {
  if (table == nullptr) {
    table = static_cast<LocalTable*>(std::calloc(1, sizeof(LocalTable)));
    if (table == nullptr) return nullptr;
  }
  Value*& block = table->blocks[index / kBlockValues];
  if (block == nullptr) {
    block = table->first_used ? static_cast<Value*>(std::calloc(kBlockValues, sizeof(Value)))
                              : table->first;
    table->first_used = true;
  }
  return block != nullptr ? block + index % kBlockValues : nullptr;
}

// Returns whether there was anything to destroy.
bool destroy_value(Value& slot, const weft_key& key) noexcept {
  // Acquire, pairs with the release in key_acquire(): the destructor is this generation's.
  const bool live = slot.generation == key.generation.load(std::memory_order_acquire);
  void* value = slot.value;
  slot.value = nullptr;
  const auto destructor = key.destructor.load(std::memory_order_relaxed);
  if (!live || value == nullptr || destructor == nullptr) return false;
  destructor(value);
  return true;
}

bool destroy_round(LocalTable* table) noexcept {
  bool any = false;
  for (unsigned b = 0; b < kBlocks; ++b) {
    Value* block = table->blocks[b];
    for (unsigned i = 0; block != nullptr && i < kBlockValues; ++i) {
      any |= destroy_value(block[i], keys[b * kBlockValues + i]);
    }
  }
  return any;
}

void destroy_values(LocalTable* table) noexcept {
  for (int round = 0; round < kDestructorRounds && destroy_round(table); ++round) {
  }
}

void free_table(LocalTable* table) noexcept {
  for (Value* block : table->blocks) {
    if (block != table->first) std::free(block);
  }
  std::free(table);
}

// ---- threads that run no unit

pthread_key_t thread_key() noexcept;

void thread_ends(void* table) noexcept {
  // Destructors may ask for values, and set some: they need the table where it was.
  pthread_setspecific(thread_key(), table);
  destroy_values(static_cast<LocalTable*>(table));
  pthread_setspecific(thread_key(), nullptr);
  free_table(static_cast<LocalTable*>(table));
}

pthread_key_t thread_key() noexcept {
  static const pthread_key_t key = [] {
    pthread_key_t made;
    WEFT_CHECK(pthread_key_create(&made, thread_ends) == 0);
    return made;
  }();
  return key;
}

// The calling unit; null: a thread, or a scheduler. No guard is needed: it is one instruction, and
// which unit this is stays the same on whatever KLT it goes on.
Unit* calling_unit() noexcept { return klt_register_valid() ? klt_current() : nullptr; }

}  // namespace

weft_key* key_acquire(weft_key::Destructor destructor) noexcept {
  for (weft_key& key : keys) {
    // Acquire, pairs with the release in key_release(): the last user is done with it.
    if (key.taken.load(std::memory_order_relaxed) ||
        key.taken.exchange(true, std::memory_order_acquire)) {
      continue;
    }
    key.destructor.store(destructor, std::memory_order_relaxed);
    key.generation.fetch_add(1, std::memory_order_release);
    return &key;
  }
  return nullptr;
}

bool key_release(weft_key* key) noexcept {
  if (!key_valid(key)) return false;
  uint32_t generation = key->generation.load(std::memory_order_relaxed);
  // Of two who free it at once, one fails here.
  if ((generation & 1) == 0 || !key->generation.compare_exchange_strong(
                                   generation, generation + 1, std::memory_order_relaxed)) {
    return false;
  }
  key->taken.store(false, std::memory_order_release);
  return true;
}

bool key_valid(const weft_key* key) noexcept {
  const auto offset = reinterpret_cast<uintptr_t>(key) - reinterpret_cast<uintptr_t>(keys);
  return offset < sizeof keys && offset % sizeof(weft_key) == 0 &&
         (key->generation.load(std::memory_order_relaxed) & 1) != 0;
}

void* local_get(const weft_key* key) noexcept {
  Unit* unit = calling_unit();
  LocalTable* table = unit != nullptr ? unit->cold.locals
                                      : static_cast<LocalTable*>(pthread_getspecific(thread_key()));
  const Value* slot = find(table, index_of(key));
  if (slot == nullptr) return nullptr;
  return slot->generation == key->generation.load(std::memory_order_relaxed) ? slot->value
                                                                             : nullptr;
}

bool local_set(const weft_key* key, void* value) noexcept {
  Unit* unit = calling_unit();
  LocalTable* of_thread = nullptr;
  if (unit == nullptr) of_thread = static_cast<LocalTable*>(pthread_getspecific(thread_key()));
  LocalTable*& table = unit != nullptr ? unit->cold.locals : of_thread;
  const bool first = table == nullptr;
  if (first && value == nullptr) return true;  // that is what it is
  Value* slot = find_or_make(table, index_of(key));
  if (first && table != nullptr) {
    if (unit != nullptr) {
      unit->flags.set(flag::kCold);  // ours: we run it
    } else if (pthread_setspecific(thread_key(), of_thread) != 0) {
      free_table(of_thread);
      return false;
    }
  }
  if (slot == nullptr) return false;
  *slot = {value, key->generation.load(std::memory_order_relaxed)};
  return true;
}

void locals_forget(Unit* unit) noexcept {
  LocalTable* table = unit->cold.locals;
  if (table == nullptr) return;
  unit->cold.locals = nullptr;
  free_table(table);
}

void locals_destroy(Unit* unit) noexcept {
  LocalTable* table = unit->cold.locals;
  if (table == nullptr) return;
  destroy_values(table);
  unit->cold.locals = nullptr;
  free_table(table);
}

}  // namespace weft::rt
