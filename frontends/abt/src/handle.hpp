// handle.hpp: null handles, and handles that programs are given.
#pragma once

#include <cstdint>
#include <new>

#include "abt.h"

namespace weft::abt {

inline constexpr bool kVersion20 = ABT_ENABLE_VER_20_API_VAL != 0;

// The null handles of both header flavours are the numbers up to this one. Looking for them all costs no more than for
// one, so the library does, however it is built; Argobots does not look without its checks.
inline constexpr uintptr_t kLastNull = 0x15;

template <class Handle>
bool is_null(Handle handle) noexcept {
  return reinterpret_cast<uintptr_t>(handle) <= kLastNull;
}
// Of an argument that is the address of a handle.
template <class Handle>
bool holds_null(Handle* handle) noexcept {
  return handle == nullptr || is_null(*handle);
}

// Where a function has failed, its result is a null handle in version 1.x, and what it was in 2.0.
template <class Handle>
int fail(Handle* out, Handle null, int error) noexcept {
  if (!kVersion20 && out != nullptr) *out = null;
  return error;
}

// *out = a new object like this one.
template <class T, class Handle>
int make(Handle* out, Handle null, const T& like) noexcept {
  T* object = new (std::nothrow) T(like);
  if (object == nullptr) return fail(out, null, ABT_ERR_MEM);
  *out = reinterpret_cast<Handle>(object);
  return ABT_SUCCESS;
}

}  // namespace weft::abt
