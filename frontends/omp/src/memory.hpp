// memory.hpp: small pieces of memory that come and go with tasks and worksharing constructs: a stock of each thread's, and a depot.
//
// Where one thread makes tasks and others run them, the others are given what the one needs. So stocks give and take *magazines*, of
// a fixed number of pieces, at the depot (J. Bonwick, J. Adams: Magazines and Vmem, USENIX 2001): for each piece that goes from thread to
// thread there is a fraction of an atomic exchange, and malloc(), whose lock all of them would meet at, is not called. All come from
// malloc(), so what the depot has no place for, and what a thread that is none of ours gives back, goes there.
#pragma once

#include <cstddef>
#include <cstdlib>
#include <new>

#include "team.hpp"

namespace weft::omp {

inline constexpr unsigned kMagazine = 64;  // pieces

inline unsigned block_class(size_t bytes) {
  return bytes <= 64 ? 0 : 64 - 6 - static_cast<unsigned>(__builtin_clzll(bytes - 1));
}

// Out of memory ends the program with a message: as in the runtimes that programs are used to.
void* block_from_system(size_t bytes);

// The stock is empty. False: the depot as well.
bool stock_fill(Stock& stock, unsigned cls);
// It has a magazine full.
void stock_make_room(Stock& stock, unsigned cls);

inline void* block_acquire(Thread& thread, size_t bytes) {
  const unsigned cls = block_class(bytes);
  if (cls >= kBlockClasses) return block_from_system(bytes);
  Stock& stock = thread.stocks[cls];
  if (__builtin_expect(stock.first == nullptr, 0) && !stock_fill(stock, cls)) return block_from_system(size_t{64} << cls);
  FreeBlock* block = stock.first;
  stock.first = block->next;
  --stock.count;
  return block;
}

// What block_acquire() is going to give next, if that is known: another core may have it in its cache.
inline const void* block_ahead(const Thread& thread, size_t bytes) {
  const unsigned cls = block_class(bytes);
  return cls < kBlockClasses ? thread.stocks[cls].first : nullptr;
}

// thread: the caller's; null: it has none.
inline void block_release(Thread* thread, void* memory, size_t bytes) {
  const unsigned cls = block_class(bytes);
  if (thread == nullptr || cls >= kBlockClasses) {
    std::free(memory);
    return;
  }
  Stock& stock = thread->stocks[cls];
  if (__builtin_expect(stock.count == kMagazine, 0)) stock_make_room(stock, cls);
  stock.first = new (memory) FreeBlock{stock.first};
  ++stock.count;
}

// It is given to those that go on.
void blocks_drain(Thread& thread);

}  // namespace weft::omp
