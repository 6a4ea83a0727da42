// check.hpp: what must never happen ends the program, with the state printed, in release builds too.
#pragma once

namespace weft::rt {

// Prints "weft: file:line: check failed: what (detail)" and aborts. Async-signal-safe.
[[noreturn]] void check_failed(const char* file, int line, const char* what) noexcept;

}  // namespace weft::rt

#ifdef __FILE_NAME__
#define WEFT_FILE_NAME __FILE_NAME__
#else  // gcc 11
#define WEFT_FILE_NAME (__builtin_strrchr("/" __FILE__, '/') + 1)
#endif

#define WEFT_CHECK(cond)                                                     \
  do {                                                                       \
    if (__builtin_expect(!(cond), 0)) {                                      \
      ::weft::rt::check_failed(WEFT_FILE_NAME, __LINE__, #cond);             \
    }                                                                        \
  } while (0)

// Debug builds only: for checks on paths where a compare would be measurable.
// The build sets WEFT_DEBUG to 0 or 1.
#if WEFT_DEBUG
#define WEFT_DCHECK(cond) WEFT_CHECK(cond)
namespace weft::rt {
inline constexpr bool kDebugBuild = true;
}
#else
#define WEFT_DCHECK(cond) static_cast<void>(0)
namespace weft::rt {
inline constexpr bool kDebugBuild = false;
}
#endif
