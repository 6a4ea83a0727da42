// peek.hpp: reading memory of this process that may not be there.
#pragma once

#include <cstddef>

namespace weft::rt {

// Copies [from, from + bytes). False: some of it is not mapped, is a guard, or the kernel does not let us; *to
// is then worth nothing. What another thread writes meanwhile may be half old, half new. Async-signal-safe, but
// for errno.
bool peek(const void* from, void* to, size_t bytes) noexcept;

// A copy of an object whose owner may be changing it. Its members are to be read, not its functions called.
template <class T>
class Peek {
 public:
  explicit Peek(const T* from) noexcept : ok_(from != nullptr && peek(from, bytes_, sizeof(T))) {}
  explicit operator bool() const noexcept { return ok_; }
  const T* get() const noexcept { return reinterpret_cast<const T*>(bytes_); }
  const T* operator->() const noexcept { return get(); }

 private:
  alignas(T) unsigned char bytes_[sizeof(T)];
  bool ok_;
};

}  // namespace weft::rt
