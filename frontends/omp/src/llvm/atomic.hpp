// atomic.hpp: one atomic update of a program's variable, of any type that the ABI has: with compare-and-swap where the machine
// has it for that size, under the lock of all others where it has not.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "llvm/ident.hpp"
#include "lock.hpp"

namespace weft::omp::llvm {

template <size_t kBytes>
struct BitsOf;
template <>
struct BitsOf<1> {
  using Type = uint8_t;
};
template <>
struct BitsOf<2> {
  using Type = uint16_t;
};
template <>
struct BitsOf<4> {
  using Type = uint32_t;
};
template <>
struct BitsOf<8> {
  using Type = uint64_t;
};
template <typename T>
using Bits = typename BitsOf<sizeof(T)>::Type;
template <typename T>
inline constexpr bool kInOneWord = sizeof(T) <= sizeof(uint64_t);

// std::bit_cast does not know complex numbers.
template <typename To, typename From>
To same_bits(From from) {
  static_assert(sizeof(To) == sizeof(From));
  To to;
  __builtin_memcpy(&to, &from, sizeof to);
  return to;
}

// *x = change(*x); the value before, or after.
template <typename T, typename Change>
T update(T* x, bool after, Change change) {
  if constexpr (kInOneWord<T>) {
    Bits<T>* word = reinterpret_cast<Bits<T>*>(x);
    Bits<T> seen = __atomic_load_n(word, __ATOMIC_RELAXED);
    for (;;) {
      const T old_value = same_bits<T>(seen);
      const T new_value = change(old_value);
      if (__atomic_compare_exchange_n(word, &seen, same_bits<Bits<T>>(new_value), true, __ATOMIC_SEQ_CST,
                                      __ATOMIC_RELAXED)) {
        return after ? new_value : old_value;
      }
    }
  } else {
    Lock& lock = atomic_lock;
    lock_acquire(lock);
    const T old_value = *x;
    const T new_value = change(old_value);
    *x = new_value;
    lock_release(lock);
    return after ? new_value : old_value;
  }
}

template <typename T>
T read_atomic(T* x) {
  if constexpr (kInOneWord<T>) {
    return same_bits<T>(__atomic_load_n(reinterpret_cast<Bits<T>*>(x), __ATOMIC_SEQ_CST));
  } else {
    return update(x, false, [](T old) { return old; });
  }
}

template <typename T>
T swap_atomic(T* x, T value) {
  if constexpr (kInOneWord<T>) {
    return same_bits<T>(__atomic_exchange_n(reinterpret_cast<Bits<T>*>(x), same_bits<Bits<T>>(value), __ATOMIC_SEQ_CST));
  } else {
    return update(x, false, [value](T) { return value; });
  }
}

// What whole numbers do where they overflow is to wrap around.
template <typename T>
using Wide = std::conditional_t<std::is_integral_v<T>, uint64_t, T>;

template <typename T>
T op_add(T a, T b) {
  return static_cast<T>(static_cast<Wide<T>>(a) + static_cast<Wide<T>>(b));
}
template <typename T>
T op_sub(T a, T b) {
  return static_cast<T>(static_cast<Wide<T>>(a) - static_cast<Wide<T>>(b));
}
template <typename T>
T op_mul(T a, T b) {
  return static_cast<T>(static_cast<Wide<T>>(a) * static_cast<Wide<T>>(b));
}
template <typename T>
T op_div(T a, T b) {
  return static_cast<T>(a / b);
}
template <typename T>
T op_andb(T a, T b) {
  return static_cast<T>(a & b);
}
template <typename T>
T op_orb(T a, T b) {
  return static_cast<T>(a | b);
}
template <typename T>
T op_xor(T a, T b) {
  return static_cast<T>(a ^ b);
}
template <typename T>
T op_neqv(T a, T b) {
  return static_cast<T>(a ^ b);
}
template <typename T>
T op_eqv(T a, T b) {
  return static_cast<T>(a ^ ~b);
}
template <typename T>
T op_shl(T a, T b) {
  return static_cast<T>(a << b);
}
template <typename T>
T op_shr(T a, T b) {
  return static_cast<T>(a >> b);
}
template <typename T>
T op_andl(T a, T b) {
  return static_cast<T>(a != 0 && b != 0);
}
template <typename T>
T op_orl(T a, T b) {
  return static_cast<T>(a != 0 || b != 0);
}
template <typename T>
T op_max(T a, T b) {
  return a < b ? b : a;
}
template <typename T>
T op_min(T a, T b) {
  return b < a ? b : a;
}

}  // namespace weft::omp::llvm

// The functions of an operation, x = x op value, and those that tell x before or after as well.
#define WEFT_OMP_ATOMIC(type, T, op)                                                                              \
  WEFT_OMP_API void __kmpc_atomic_##type##_##op(Ident*, int, T* x, T value) {                                     \
    update(x, false, [value](T old) { return op_##op<T>(old, value); });                                          \
  }                                                                                                               \
  WEFT_OMP_API T __kmpc_atomic_##type##_##op##_cpt(Ident*, int, T* x, T value, int after) {                       \
    return update(x, after != 0, [value](T old) { return op_##op<T>(old, value); });                              \
  }
// x = value op x.
#define WEFT_OMP_ATOMIC_REVERSE(type, T, op)                                                                      \
  WEFT_OMP_API void __kmpc_atomic_##type##_##op##_rev(Ident*, int, T* x, T value) {                               \
    update(x, false, [value](T old) { return op_##op<T>(value, old); });                                          \
  }                                                                                                               \
  WEFT_OMP_API T __kmpc_atomic_##type##_##op##_cpt_rev(Ident*, int, T* x, T value, int after) {                   \
    return update(x, after != 0, [value](T old) { return op_##op<T>(value, old); });                              \
  }
// The value is of a wider type, in which the operation is done.
#define WEFT_OMP_ATOMIC_MIXED(type, T, op, other, V)                                                              \
  WEFT_OMP_API void __kmpc_atomic_##type##_##op##_##other(Ident*, int, T* x, V value) {                           \
    update(x, false, [value](T old) { return static_cast<T>(op_##op<V>(static_cast<V>(old), value)); });          \
  }
#define WEFT_OMP_ATOMIC_ACCESS(type, T)                                                                           \
  WEFT_OMP_API T __kmpc_atomic_##type##_rd(Ident*, int, T* x) { return read_atomic(x); }                          \
  WEFT_OMP_API void __kmpc_atomic_##type##_wr(Ident*, int, T* x, T value) { swap_atomic(x, value); }
#define WEFT_OMP_ATOMIC_SWAP(type, T)                                                                             \
  WEFT_OMP_API T __kmpc_atomic_##type##_swp(Ident*, int, T* x, T value) { return swap_atomic(x, value); }
// All of a real or complex type; and of a real one.
#define WEFT_OMP_ATOMIC_FLOAT(type, T)       \
  WEFT_OMP_ATOMIC(type, T, add)              \
  WEFT_OMP_ATOMIC(type, T, sub)              \
  WEFT_OMP_ATOMIC(type, T, mul)              \
  WEFT_OMP_ATOMIC(type, T, div)              \
  WEFT_OMP_ATOMIC_REVERSE(type, T, sub)      \
  WEFT_OMP_ATOMIC_REVERSE(type, T, div)      \
  WEFT_OMP_ATOMIC_ACCESS(type, T)            \
  WEFT_OMP_ATOMIC_SWAP(type, T)
#define WEFT_OMP_ATOMIC_LIMITS(type, T)      \
  WEFT_OMP_ATOMIC(type, T, max)              \
  WEFT_OMP_ATOMIC(type, T, min)
