// runtime.hpp: whether ABT_init() has been called, and what it has found out.
#pragma once

#include <atomic>

#include "abt.h"
#include "environment.hpp"

namespace weft::abt {

struct State {
  std::atomic<int> initialized{0};  // ABT_init() less ABT_finalize(); written under the lock of init.cpp
  // constant while initialised
  Environment environment;
  uint64_t ids_before = 0;  // that units had before ABT_init()
};
extern State state;

// Also in a signal handler.
inline bool running() noexcept { return state.initialized.load(std::memory_order_acquire) != 0; }

}  // namespace weft::abt
