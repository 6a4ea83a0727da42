// environment.hpp: what Argobots' environment variables say, as far as it has a meaning here. README.md has the list.
#pragma once

#include <cstddef>

namespace weft::abt {

struct Environment {
  size_t thread_stack_size = 0;  // 0: as Weft's own variables say
  size_t sched_stack_size = 4 << 20;
  const char* affinity = nullptr;  // ABT_SET_AFFINITY; null: not set, or one of the words for no
  // These are told to who asks, and mean nothing else.
  unsigned max_xstreams = 0;
  unsigned event_freq = 50;
  bool print_config = false;  // by ABT_init()
};

// Each as ABT_<NAME>, or else ABT_ENV_<NAME>. Numbers that are none count as not set. Texts are the environment's own.
Environment read_environment() noexcept;

}  // namespace weft::abt
