// text.hpp: writing a report from a signal handler: no stdio, no allocation, only write().
#pragma once

#include <cstddef>
#include <cstdint>

namespace weft::rt {

struct Hex {
  uint64_t value;
  unsigned digits = 1;  // at least
};
inline Hex address(const void* at) noexcept { return {reinterpret_cast<uintptr_t>(at)}; }
inline Hex address(uintptr_t at) noexcept { return {at, 16}; }

// "12.3 s"
struct Seconds {
  uint64_t ns;
};

class Text {
 public:
  explicit Text(int fd) noexcept : fd_(fd) {}
  Text(const Text&) = delete;
  Text& operator=(const Text&) = delete;
  ~Text() { flush(); }

  Text& operator<<(const char* text) noexcept;
  Text& operator<<(uint64_t number) noexcept;
  Text& operator<<(unsigned number) noexcept { return *this << uint64_t{number}; }
  Text& operator<<(int number) noexcept;
  Text& operator<<(Hex hex) noexcept;
  Text& operator<<(Seconds seconds) noexcept;
  // At most `most` bytes; what would upset a terminal becomes '?'.
  Text& quoted(const char* text, size_t most) noexcept;

  // False: the file takes no more; everything after that is dropped.
  bool flush() noexcept;

 private:
  void put(char c) noexcept {
    if (size_ == sizeof buffer_) flush();
    buffer_[size_++] = c;
  }

  int fd_;
  bool failed_ = false;
  size_t size_ = 0;
  char buffer_[1024];  // lives on alternate signal stacks
};

}  // namespace weft::rt
