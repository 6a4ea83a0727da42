// pieces.hpp: a taskloop's pieces as tasks.
//
// Each piece is a task to the program: with its own data, children, numbers. But to make all of them first would take longer than many
// loops have to do, and fill the queue. What is queued are *ranges* of pieces: tasks of ours, of which nobody sees anything. Who runs
// one halves it, queues the second half, and goes on with the first one, until what is left takes some microseconds; that much it runs,
// one call after the other. So who looks for tasks finds the largest part that there is (lazy splitting: A. Tzannes et al., Lazy
// Binary Splitting, PPoPP 2010).
//
// What is left in one's hands nobody else can run. How many pieces that may be is measured; it begins with one. Where they suddenly
// take longer, and nothing else is queued, the next one gives half of the others away: so one piece is the longest that others wait for
// without need.
//
// A range is the parent of those that are split off, and of its pieces: they are counted, found and waited for as all tasks are. So
// those that are split off are no children of who has made the loop, while a taskwait is to wait for all pieces. Where nobody waits for
// the loop at once, all ranges descend from a child of its maker's, which stands for the *whole*: detached, it ends when all
// pieces have.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "task.hpp"

namespace weft::omp {

// What is constructed in pieces_memory(), behind which may lie more.
struct Pieces {
  // constant
  uint64_t count = 0;
  size_t bytes = 0;    // of each piece's data
  uint16_t flags = 0;  // kUntied, kMergeable, kFinal
  void (*prepare)(const Pieces& pieces, uint64_t number, Task* task) = nullptr;  // writes the data, behind the descriptor
  void (*run)(Task* task) = nullptr;
  Task* whole = nullptr;  // see above; null: there is none
  // any thread
  std::atomic<uint64_t> left{0};        // with that: pieces that have not ended
  std::atomic<uint64_t> at_once{1};     // so many pieces may be in one's hands
  std::atomic<uint32_t> references{1};  // ranges; and whoever has made it
};
void* pieces_memory(size_t bytes);

enum class When : uint8_t {
  kNow,       // all of them, before the caller goes on
  kDeferred,  // when they are waited for, or somebody else has time
  kWaited,    // the caller waits for them now
};
// The caller's reference is taken over: they are freed when all of them have run.
void start_pieces(Member& member, Pieces* pieces, When when);

}  // namespace weft::omp
