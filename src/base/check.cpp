#include "base/check.hpp"

#include <unistd.h>

#include <cstdio>
#include <cstdlib>

namespace weft::rt {

void check_failed(const char* file, int line, const char* what) noexcept {
  char text[256];
  const int n = std::snprintf(text, sizeof text, "weft: %s:%d: check failed: %s\n", file, line, what);
  if (n > 0) {
    const auto length = static_cast<size_t>(n) < sizeof text ? static_cast<size_t>(n) : sizeof text - 1;
    if (write(STDERR_FILENO, text, length) < 0) std::abort();
  }
  std::abort();
}

}  // namespace weft::rt
