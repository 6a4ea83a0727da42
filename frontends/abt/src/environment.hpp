// environment.hpp: what Argobots' environment variables say, as far as it has a meaning here. README.md has the list.
#pragma once

#include <cstddef>

namespace weft::abt {

struct Environment {
  size_t thread_stack_size = 0;  // 0: as Weft's own variables say
  size_t sched_stack_size = 4 << 20;
  // What Argobots leaves out unless it is configured with it. Programs do without where it is not there, and some do
  // what takes long where it is: Margo measures the clock for a second where there are tools.
  bool has_affinity = false;       // ABT_SET_AFFINITY is set, to whatever
  const char* affinity = nullptr;  // its value; null: not set, or one of the words for no
  bool has_tools = false;          // ABT_ENABLE_TOOL
  // These are told to who asks, and mean nothing else.
  unsigned max_xstreams = 0;
  unsigned event_freq = 50;
  bool print_config = false;  // by ABT_init()
};

// Each as ABT_<NAME>, or else ABT_ENV_<NAME>. Numbers that are none count as not set. Texts are the environment's own.
Environment read_environment() noexcept;

}  // namespace weft::abt
