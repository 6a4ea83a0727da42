// local.hpp: unit-local storage: one value per key and unit; on a thread that runs no unit, one per
// key and thread.
//
// A value carries the generation of its key, so that freeing a key is O(1): values of a freed key,
// wherever they are, no longer fit the generation of the key that gets its place.
#pragma once

#include <atomic>
#include <cstdint>

struct weft_key {
  using Destructor = void (*)(void* value);
  // any thread
  std::atomic<bool> taken{false};
  std::atomic<uint32_t> generation{0};  // odd: in use; written by whoever set `taken`, or frees it
  std::atomic<Destructor> destructor{nullptr};  // constant while the generation is odd
};

namespace weft::rt {

struct Unit;
struct LocalTable;

inline constexpr unsigned kMostKeys = 512;

// Null: all keys are in use.
weft_key* key_acquire(weft_key::Destructor destructor) noexcept;
// False: this is not a key, or it has been freed.
bool key_release(weft_key* key) noexcept;
bool key_valid(const weft_key* key) noexcept;

// Of the calling unit, or thread. Precondition of both: key_valid(key).
void* local_get(const weft_key* key) noexcept;
// False: out of memory.
bool local_set(const weft_key* key, void* value) noexcept;

// Calls the destructors of a unit's values and gives back its table. Destructors are the user's
// code: precondition: guard down. Owner: whoever frees the unit, or the unit itself at its end.
// Only units with flag kCold can have values.
void locals_destroy(Unit* unit) noexcept;
// Of a unit that is dropped: the table is given back, no destructor is called.
void locals_forget(Unit* unit) noexcept;

}  // namespace weft::rt
