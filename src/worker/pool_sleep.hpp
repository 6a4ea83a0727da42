// pool_sleep.hpp: sleeping until a pool is pushed to, in other ways than a worker does (idle.cpp): a stacked scheduler
// suspends; whoever pops from a pool and waits for what comes (pool_wait()) has its KLT sleep.
#pragma once

#include <cstdint>

#include "pool/pool_sleeper.hpp"

namespace weft::rt {

struct Worker;

// Both: guard up, or of a foreign thread. The sleeper's waiter is set. Whoever has entered looks into its pools once
// more before it sleeps, after a full fence, and a membarrier() if it is no scheduler of them: whoever serves a pool
// alone pushes without a fence.
void pool_sleep_enter(PoolSleeper& sleeper) noexcept;
void pool_sleep_leave(PoolSleeper& sleeper) noexcept;

// One of those that sleep on the pool shall look at it again. worker: the caller's, guard up; null: a foreign thread.
void wake_pool_sleeper(Worker* worker, Pool* pool) noexcept;
// The same of a main scheduler's code on this KLT, or on that worker's: there is something else to do.
void wake_pool_sleeper_on(const Klt* klt) noexcept;
void wake_worker_and_sleeper(Worker* worker) noexcept;
// The maker of spares: what handlers could not do, since the sleeper's ULT goes into a pool of the user's.
void wake_left_by_handlers() noexcept;
// In a forked child: nobody sleeps.
void forget_pool_sleepers() noexcept;

// The KLT sleeps, and its worker with it, until there is something in the pool, or it has been pushed to, or the
// deadline has come, or that of a ULT which nobody else watches, or this KLT has something else to do. Guard up, or
// worker null.
// Returns the worker that the caller is on afterwards.
Worker* pool_wait(Worker* worker, Pool* pool, uint64_t deadline) noexcept;

}  // namespace weft::rt
