// marks.hpp: what a worker says with plain stores, for others that look after a membarrier() (sync/README.md,
// "Readers that are counted apart" and "Lists that one worker has to itself").
//
// It does not go away with its worker, nor with the runtime: a lock may be held for longer. The next worker with that
// index goes on with it.
#pragma once

#include <atomic>
#include <cstdint>

#include "pool/pool.hpp"

namespace weft::rt {

struct alignas(64) WorkerMarks {
  static constexpr unsigned kCounts = 16;

  // The worker's carrier, guard up: the object that it is in, by mark_of(); 0: none.
  std::atomic<uint32_t> changing{0};
  // Numbers of readers, with whose they are: sync/read_counts.hpp. The same; or whoever has stopped it.
  alignas(64) std::atomic<uint64_t> counts[kCounts] = {};
};

// Objects far apart may have the same: then whoever waits for a worker to leave one may wait for it to leave both.
inline uint32_t mark_of(const void* object) noexcept {
  return static_cast<uint32_t>(reinterpret_cast<uintptr_t>(object) >> 3) | uint32_t{1} << 31;
}

extern WorkerMarks worker_marks[kMaxWorkers];
extern std::atomic<unsigned> worker_marks_used;  // only those before this have ever been a worker's

}  // namespace weft::rt
