#include "run.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "libraries.hpp"

namespace weft::command {
namespace {

void set(const RunWish& wish, const std::string& name, const std::string& value) {
  ::setenv(name.c_str(), value.c_str(), 1);
  if (wish.verbose) fmt::print(stderr, "weft run: {}={}\n", name, value);
}

// In front of a list, unless it is there already: a command under `weft run` may say `weft run` too.
void put_in_front(const RunWish& wish, const char* name, const std::string& entry) {
  const char* given = std::getenv(name);
  const std::string list = given != nullptr ? given : "";
  if (list == entry || list.starts_with(entry + ":")) return;
  set(wish, name, list.empty() ? entry : entry + ":" + list);
}

}  // namespace

int run(const RunWish& wish) {
  const std::string directory = library_directory();
  if (directory.empty()) {
    fmt::print(stderr, "weft run: the libraries are not where they should be, beside this command (" WEFT_LIBRARIES_INSTALLED ")\n");
    return kWeftFailed;
  }
  if (directory.find_first_of(": ;") != std::string::npos) {
    fmt::print(stderr, "weft run: the libraries lie in '{}': the system's loader takes no path with a blank or a colon\n", directory);
    return kWeftFailed;
  }
  for (const auto& [name, value] : wish.variables) set(wish, name, value);
  // The path is for libraries that are loaded by name; the preload for those that are bundled under other names, as in Python's
  // wheels: their symbols are found here first.
  put_in_front(wish, "LD_LIBRARY_PATH", directory);
  put_in_front(wish, "LD_PRELOAD", directory + "/libgomp.so.1");
  std::vector<char*> arguments;
  for (const std::string& argument : wish.command) arguments.push_back(const_cast<char*>(argument.c_str()));
  arguments.push_back(nullptr);
  ::execvp(arguments[0], arguments.data());
  const int error = errno;
  fmt::print(stderr, "weft run: cannot run '{}': {}\n", wish.command[0], std::strerror(error));
  return error == ENOENT ? kNotFound : kCannotRun;
}

}  // namespace weft::command
