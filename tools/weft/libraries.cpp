#include "libraries.hpp"

#include <sys/auxv.h>

#include <filesystem>

namespace weft::command {
namespace {

namespace fs = std::filesystem;

// Without links, but where a sandbox lets nobody read them.
fs::path real(const fs::path& path) {
  std::error_code error;
  const fs::path found = fs::canonical(path, error);
  return error ? fs::absolute(path, error).lexically_normal() : found;
}

// Empty: it is not known.
fs::path this_command() {
  std::error_code error;
  const fs::path found = fs::read_symlink("/proc/self/exe", error);
  if (!error) return found;
  // /proc is not there, or refused: by the name that it has been started by.
  const auto* name = reinterpret_cast<const char*>(::getauxval(AT_EXECFN));
  return name != nullptr ? real(name) : fs::path();
}

}  // namespace

std::string library_directory() {
  const fs::path command = this_command();
  if (command.empty()) return {};
  for (const char* place : {WEFT_LIBRARIES_INSTALLED, WEFT_LIBRARIES_BUILT}) {
    std::error_code error;
    const fs::path directory = real(command.parent_path() / place);
    if (fs::exists(directory / "libgomp.so.1", error)) return directory.string();
  }
  return {};
}

}  // namespace weft::command
