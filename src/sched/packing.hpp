// packing.hpp: the scheduler for thread packing: who of n active workers runs what out of N pools.
//
// Algorithm 1 of Shiina, Iwasaki, Taura, Balaji, "Lightweight Preemptive User-Level Threads" (PPoPP 2021): as many pools
// for each active worker alone as can be dealt evenly, and the N mod n that remain shared by all of them. So most units
// stay where their data is. Three things are different:
//   - Of its own pools and the shared ones a worker takes the one that has had the fewest slices since the number
//     of workers changed. (There every second slice is a shared one, whatever their number, and of its own
//     pools each worker begins with the first every time, which starves the second.)
//   - So a shared unit that somebody else runs just now, when its turn comes, gets its slice from the next worker.
//   - A worker that finds nothing in either takes from the pools of others: no core idles while a unit waits.
//
// With one unit that computes in each pool: in any stretch of W slices with the same n each has W*n/N, give or take
// kPackingBound. tests/unit/sched_packing_test.cpp goes through all n.
#pragma once

#include <cstddef>
#include <cstdint>

namespace weft::rt {

struct Packing;
struct Sched;
struct Unit;
struct Worker;

inline constexpr unsigned kPackingBound = 2;
// A pool that had nothing to run gets so many slices more than the others when it has.
inline constexpr unsigned kPackingBacklog = 16;

Packing* packing_create(const Sched* sched) noexcept;  // null: out of memory
void packing_destroy(Packing* packing) noexcept;
Unit* packing_pick(Sched* sched, Worker* worker) noexcept;
// Whether a unit waits that this worker would run in the place of one of `home`. Async-signal-safe.
bool packing_others_wait(const Sched* sched, const void* home) noexcept;

}  // namespace weft::rt
