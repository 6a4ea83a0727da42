// key.cpp: weft_key_*: see unit/local.hpp.
#include "unit/local.hpp"
#include "weft/weft.h"

using namespace weft::rt;

extern "C" {

int weft_key_create(void (*destructor)(void* value), weft_key_t* key) {
  if (key == nullptr) return WEFT_ERR_INVALID;
  weft_key* made = key_acquire(destructor);
  if (made == nullptr) return WEFT_ERR_LIMIT;
  *key = made;
  return WEFT_OK;
}

int weft_key_free(weft_key_t* key) {
  if (key == nullptr || !key_release(*key)) return WEFT_ERR_INVALID;
  *key = nullptr;
  return WEFT_OK;
}

int weft_key_set(weft_key_t key, void* value) {
  if (!key_valid(key)) return WEFT_ERR_INVALID;
  return local_set(key, value) ? WEFT_OK : WEFT_ERR_NO_MEMORY;
}

void* weft_key_get(weft_key_t key) { return key_valid(key) ? local_get(key) : nullptr; }

}  // extern "C"
