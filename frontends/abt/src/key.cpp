// key.cpp: work-unit-specific data. A unit's values form a list, newest first, in which nothing is taken out before the
// unit is freed: so any thread may look for one, and add one, without a lock. Programs have a handful of keys.
//
// Not the core's unit-local values: Argobots calls destructors of keys that have been freed, and lets any thread set a
// value of any unit.
#include "key.hpp"

#include <atomic>
#include <new>

#include "self.hpp"
#include "unit.hpp"

struct ABT_key_opaque {
  void (*destructor)(void* value);
  uint64_t id;  // never used again
};

namespace weft::abt {

struct KeyEntry {
  const uint64_t id;
  void (*const destructor)(void* value);
  std::atomic<void*> value;
  KeyEntry* const next;
};

namespace {

constinit std::atomic<uint64_t> last_id{0};

KeyEntry* find(KeyEntry* head, const KeyEntry* end, uint64_t id) noexcept {
  for (KeyEntry* entry = head; entry != end; entry = entry->next) {
    if (entry->id == id) return entry;
  }
  return nullptr;
}

int set(ABT_thread thread, ABT_key key, void* value) noexcept {
  Extra* extra = extra_of(thread);
  if (extra == nullptr) return ABT_ERR_MEM;
  KeyEntry* head = extra->keys.load(std::memory_order_acquire);
  const KeyEntry* seen = nullptr;
  for (;;) {
    if (KeyEntry* entry = find(head, seen, key->id)) {
      // Release, pairs with the acquire in get(): what the value points to.
      entry->value.store(value, std::memory_order_release);
      return ABT_SUCCESS;
    }
    seen = head;
    auto* made = new (std::nothrow) KeyEntry{key->id, key->destructor, value, head};
    if (made == nullptr) return ABT_ERR_MEM;
    // Release, pairs with the acquires of those who look.
    if (extra->keys.compare_exchange_strong(head, made, std::memory_order_acq_rel)) return ABT_SUCCESS;
    delete made;
  }
}

void* get(ABT_thread thread, ABT_key key) noexcept {
  Extra* extra = extra_if_any(thread);
  if (extra == nullptr) return nullptr;
  const KeyEntry* entry = find(extra->keys.load(std::memory_order_acquire), nullptr, key->id);
  return entry != nullptr ? entry->value.load(std::memory_order_acquire) : nullptr;
}

}  // namespace

void destroy_values(Extra* extra) noexcept {
  for (KeyEntry* entry = extra->keys.exchange(nullptr, std::memory_order_acquire); entry != nullptr;) {
    KeyEntry* const next = entry->next;
    void* const value = entry->value.load(std::memory_order_relaxed);
    if (value != nullptr && entry->destructor != nullptr) entry->destructor(value);
    delete entry;
    entry = next;
  }
}

}  // namespace weft::abt

using namespace weft::abt;

extern "C" {

int ABT_key_create(void (*destructor)(void* value), ABT_key* newkey) {
  if (!running()) return fail(newkey, ABT_KEY_NULL, ABT_ERR_UNINITIALIZED);
  auto* key = new (std::nothrow) ABT_key_opaque{destructor, last_id.fetch_add(1, std::memory_order_relaxed) + 1};
  if (key == nullptr) return fail(newkey, ABT_KEY_NULL, ABT_ERR_MEM);
  *newkey = key;
  return ABT_SUCCESS;
}

int ABT_key_free(ABT_key* key) {
  if (key == nullptr || is_null(*key)) return ABT_ERR_INV_KEY;
  delete *key;
  *key = ABT_KEY_NULL;
  return ABT_SUCCESS;
}

int ABT_thread_set_specific(ABT_thread thread, ABT_key key, void* value) {
  if (is_null(thread)) return ABT_ERR_INV_THREAD;
  return is_null(key) ? ABT_ERR_INV_KEY : set(thread, key, value);
}

int ABT_thread_get_specific(ABT_thread thread, ABT_key key, void** value) {
  if (is_null(thread)) return ABT_ERR_INV_THREAD;
  if (is_null(key)) return ABT_ERR_INV_KEY;
  *value = get(thread, key);
  return ABT_SUCCESS;
}

int ABT_self_set_specific(ABT_key key, void* value) {
  ABT_thread self;
  if (const int error = self_unit(&self); error != ABT_SUCCESS) return error;
  return is_null(key) ? ABT_ERR_INV_KEY : set(self, key, value);
}

int ABT_self_get_specific(ABT_key key, void** value) {
  ABT_thread self;
  if (const int error = self_unit(&self); error != ABT_SUCCESS) {
    if (!kVersion20 && value != nullptr) *value = nullptr;
    return error;
  }
  if (is_null(key)) return ABT_ERR_INV_KEY;
  *value = get(self, key);
  return ABT_SUCCESS;
}

int ABT_key_set(ABT_key key, void* value) { return ABT_self_set_specific(key, value); }
int ABT_key_get(ABT_key key, void** value) { return ABT_self_get_specific(key, value); }

}  // extern "C"
