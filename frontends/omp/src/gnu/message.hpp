// message.hpp: what the library says to the user in libgomp's place, on stderr.
#pragma once

#include <cstdarg>

namespace weft::omp::gnu {

// A line.
[[gnu::format(printf, 1, 2)]] void say(const char* format, ...);
void say_list(const char* format, va_list list);
// A line, and the process exits.
[[noreturn, gnu::format(printf, 1, 2)]] void fail(const char* format, ...);

}  // namespace weft::omp::gnu
