#include "libraries.hpp"

#include <filesystem>

namespace weft::command {

std::string library_directory() {
  namespace fs = std::filesystem;
  std::error_code error;
  const fs::path here = fs::read_symlink("/proc/self/exe", error).parent_path();
  if (error) return {};
  for (const char* place : {WEFT_LIBRARIES_INSTALLED, WEFT_LIBRARIES_BUILT}) {
    const fs::path directory = fs::canonical(here / place, error);
    if (!error && fs::exists(directory / "libgomp.so.1", error)) return directory.string();
  }
  return {};
}

}  // namespace weft::command
