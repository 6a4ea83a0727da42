#include "memory.hpp"

#include <cstdio>

namespace weft::omp {

void* block_from_system(size_t bytes) {
  void* memory = std::aligned_alloc(64, (bytes + 63) & ~size_t{63});
  if (memory == nullptr) {
    std::fprintf(stderr, "weft: OpenMP: out of memory (%zu bytes for a task or a loop)\n", bytes);
    std::abort();
  }
  return memory;
}

void blocks_drain(Thread& thread) {
  for (unsigned cls = 0; cls < kBlockClasses; ++cls) {
    while (FreeBlock* block = thread.blocks[cls]) {
      thread.blocks[cls] = block->next;
      std::free(block);
    }
    thread.block_counts[cls] = 0;
  }
}

}  // namespace weft::omp
