// memory.hpp: small pieces of memory that come and go with tasks and worksharing constructs: a stock of each thread's.
//
// A piece goes to the stock of whoever gives it back. All come from malloc(), so what a stock has no place for, and what a
// thread that is none of ours gives back, goes there.
#pragma once

#include <cstddef>
#include <cstdlib>
#include <new>

#include "team.hpp"

namespace weft::omp {

inline constexpr unsigned kMostBlocks = 512;  // of a class in one stock: more than a queue of tasks holds

inline unsigned block_class(size_t bytes) {
  return bytes <= 64 ? 0 : 64 - 6 - static_cast<unsigned>(__builtin_clzll(bytes - 1));
}

// Out of memory ends the program with a message: as in the runtimes that programs are used to.
void* block_from_system(size_t bytes);

inline void* block_acquire(Thread& thread, size_t bytes) {
  const unsigned cls = block_class(bytes);
  if (cls >= kBlockClasses) return block_from_system(bytes);
  FreeBlock* block = thread.blocks[cls];
  if (__builtin_expect(block == nullptr, 0)) return block_from_system(size_t{64} << cls);
  thread.blocks[cls] = block->next;
  --thread.block_counts[cls];
  return block;
}

// thread: the caller's; null: it has none.
inline void block_release(Thread* thread, void* memory, size_t bytes) {
  const unsigned cls = block_class(bytes);
  if (thread == nullptr || cls >= kBlockClasses || thread->block_counts[cls] >= kMostBlocks) {
    std::free(memory);
    return;
  }
  thread->blocks[cls] = new (memory) FreeBlock{thread->blocks[cls]};
  ++thread->block_counts[cls];
}

void blocks_drain(Thread& thread);

}  // namespace weft::omp
