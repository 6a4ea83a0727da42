#include "os/file.hpp"

#include <fcntl.h>
#include <unistd.h>

namespace weft::rt {

std::optional<std::string> read_file(const std::string& path) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return std::nullopt;
  std::string text;
  // No stat first: files of /proc and /sys do not tell their size.
  char chunk[4096];
  ssize_t got;
  while ((got = ::read(fd, chunk, sizeof chunk)) > 0) text.append(chunk, static_cast<size_t>(got));
  ::close(fd);
  if (got < 0) return std::nullopt;
  return text;
}

}  // namespace weft::rt
