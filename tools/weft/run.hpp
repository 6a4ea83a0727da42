// run.hpp: `weft run`.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace weft::command {

// As env, nice and timeout have them: what is not the command's own status.
inline constexpr int kWeftFailed = 125, kCannotRun = 126, kNotFound = 127;

struct RunWish {
  std::vector<std::pair<std::string, std::string>> variables;  // to be set
  bool verbose = false;
  std::vector<std::string> command;
};

// Replaces the process by the command, with the libraries in front. Returns only if that fails: the exit status.
int run(const RunWish& wish);

}  // namespace weft::command
