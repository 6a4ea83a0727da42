#include "inspect/text.hpp"

#include <poll.h>
#include <unistd.h>

#include <cerrno>

namespace weft::rt {

Text& Text::operator<<(const char* text) noexcept {
  while (*text != '\0') put(*text++);
  return *this;
}

Text& Text::operator<<(uint64_t number) noexcept {
  char digits[20];
  unsigned count = 0;
  do {
    digits[count++] = static_cast<char>('0' + number % 10);
    number /= 10;
  } while (number != 0);
  while (count > 0) put(digits[--count]);
  return *this;
}

Text& Text::operator<<(int number) noexcept {
  if (number < 0) put('-');
  return *this << (number < 0 ? -static_cast<uint64_t>(number) : static_cast<uint64_t>(number));
}

Text& Text::operator<<(Hex hex) noexcept {
  unsigned digits = 1;
  while (digits < 16 && hex.value >> (4 * digits) != 0) ++digits;
  if (digits < hex.digits) digits = hex.digits;
  *this << "0x";
  while (digits > 0) put("0123456789abcdef"[hex.value >> (4 * --digits) & 15]);
  return *this;
}

Text& Text::operator<<(Seconds seconds) noexcept {
  const uint64_t tenths = seconds.ns / 100'000'000;
  *this << tenths / 10 << ".";
  put(static_cast<char>('0' + tenths % 10));
  return *this << " s";
}

Text& Text::quoted(const char* text, size_t most) noexcept {
  for (size_t i = 0; i < most && text[i] != '\0'; ++i) {
    const auto c = static_cast<unsigned char>(text[i]);
    put(c < 0x20 || c == 0x7f ? '?' : text[i]);
  }
  return *this;
}

bool Text::flush() noexcept {
  for (size_t done = 0; done < size_ && !failed_;) {
    const ssize_t n = write(fd_, buffer_ + done, size_ - done);
    if (n > 0) {
      done += static_cast<size_t>(n);
    } else if (n < 0 && errno == EAGAIN) {
      pollfd ready{fd_, POLLOUT, 0};
      failed_ = poll(&ready, 1, -1) < 0 && errno != EINTR;
    } else if (n == 0 || errno != EINTR) {
      failed_ = true;
    }
  }
  size_ = 0;
  return !failed_;
}

}  // namespace weft::rt
