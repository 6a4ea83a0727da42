#include "gnu/message.hpp"

#include <cstdio>
#include <cstdlib>

#include "export.hpp"

namespace weft::omp::gnu {

// libgomp's prefix: programs and their tests look for it.
void say_list(const char* format, va_list list) {
  char line[1024];
  vsnprintf(line, sizeof line, format, list);
  fprintf(stderr, "\nlibgomp: %s\n", line);
}

void say(const char* format, ...) {
  va_list list;
  va_start(list, format);
  say_list(format, list);
  va_end(list);
}

void fail(const char* format, ...) {
  va_list list;
  va_start(list, format);
  say_list(format, list);
  va_end(list);
  exit(EXIT_FAILURE);
}

namespace {

// The error directive's message: null: it has none; of `length` bytes, -1: up to its zero.
void say_directive(const char* before, const char* message, size_t length) {
  if (!message) {
    say("%serror directive encountered", before);
  } else if (length == static_cast<size_t>(-1)) {
    say("%serror directive encountered: %s", before, message);
  } else {
    say("%serror directive encountered: %.*s", before, static_cast<int>(length), message);
  }
}

}  // namespace
}  // namespace weft::omp::gnu

using namespace weft::omp;

WEFT_OMP_API void GOMP_warning(const char* message, size_t length) { gnu::say_directive("", message, length); }
WEFT_OMP_GNU(GOMP_warning, "GOMP_5.1")

WEFT_OMP_API void GOMP_error(const char* message, size_t length) {
  gnu::say_directive("fatal error: ", message, length);
  exit(EXIT_FAILURE);
}
WEFT_OMP_GNU(GOMP_error, "GOMP_5.1")
