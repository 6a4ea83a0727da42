// pool_sleeper.hpp: somebody who sleeps until one of some pools is pushed to. worker/pool_sleep.cpp has the list.
#pragma once

#include <atomic>
#include <cstddef>

namespace weft::rt {

struct Klt;
struct Pool;
struct Waiter;

struct PoolSleeper {
  std::atomic<Waiter*> waiter{nullptr};  // whoever exchanges it wakes it; null: nobody sleeps, or it is being woken
  // constant while it is in the list
  Pool* const* pools = nullptr;
  size_t pool_count = 0;
  const Klt* klt = nullptr;  // on which a main scheduler's code sleeps, and gets nothing else done; null: no such
  // under the list's lock
  PoolSleeper* next = nullptr;
};

}  // namespace weft::rt
