// file.hpp: a whole small file (of /proc, /sys or a cgroup) as a string.
#pragma once

#include <optional>
#include <string>

namespace weft::rt {

// Nothing if the file cannot be read. Plain kernel thread or worker at initialisation; may throw
// std::bad_alloc.
std::optional<std::string> read_file(const std::string& path);

}  // namespace weft::rt
