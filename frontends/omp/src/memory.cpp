#include "memory.hpp"

#include <array>
#include <atomic>
#include <cstdio>
#include <utility>

namespace weft::omp {

namespace {

// Full magazines; null: a place is free. By exchange only, so nobody who is preempted here, or gone in a child of fork(), is waited for.
constexpr unsigned kDepot = 16;
struct alignas(64) Depot {
  std::array<std::atomic<FreeBlock*>, kDepot> places{};
};
Depot depots[kBlockClasses];

void free_all(FreeBlock* first) {
  while (first != nullptr) std::free(std::exchange(first, first->next));
}

// False: there is no place.
bool give(FreeBlock* magazine, unsigned cls) {
  for (auto& place : depots[cls].places) {
    FreeBlock* none = nullptr;
    if (place.load(std::memory_order_relaxed) != nullptr) continue;
    // Release: what is written in the pieces.
    if (place.compare_exchange_strong(none, magazine, std::memory_order_release, std::memory_order_relaxed)) return true;
  }
  return false;
}

FreeBlock* take(unsigned cls) {
  for (auto& place : depots[cls].places) {
    if (place.load(std::memory_order_relaxed) == nullptr) continue;
    if (FreeBlock* magazine = place.exchange(nullptr, std::memory_order_acquire)) return magazine;
  }
  return nullptr;
}

}  // namespace

void* block_from_system(size_t bytes) {
  void* memory = std::aligned_alloc(64, (bytes + 63) & ~size_t{63});
  if (memory == nullptr) {
    std::fprintf(stderr, "weft: OpenMP: out of memory (%zu bytes for a task or a loop)\n", bytes);
    std::abort();
  }
  return memory;
}

bool stock_fill(Stock& stock, unsigned cls) {
  stock.first = stock.spare != nullptr ? std::exchange(stock.spare, nullptr) : take(cls);
  if (stock.first == nullptr) return false;
  stock.count = kMagazine;
  return true;
}

void stock_make_room(Stock& stock, unsigned cls) {
  // The older ones: what has just been written is here again sooner.
  if (stock.spare != nullptr && !give(stock.spare, cls)) free_all(stock.spare);
  stock.spare = std::exchange(stock.first, nullptr);
  stock.count = 0;
}

void blocks_drain(Thread& thread) {
  for (unsigned cls = 0; cls < kBlockClasses; ++cls) {
    Stock& stock = thread.stocks[cls];
    if (stock.spare != nullptr && !give(stock.spare, cls)) free_all(stock.spare);
    free_all(stock.first);
    stock = {};
  }
}

}  // namespace weft::omp
