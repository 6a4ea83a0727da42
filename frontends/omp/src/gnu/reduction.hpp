// reduction.hpp: reductions over tasks, as gcc's code does them.
//
// The compiler describes them in arrays of words (`Reductions`), which lie in the frame of whoever meets the construct; we
// give each thread of the team its piece of zeroed memory there, and the code initialises its copies when it first touches
// them. A construct with several clauses has several arrays in a chain, whose end we tie to what is in force outside.
#pragma once

#include <cstddef>
#include <cstdint>

namespace weft::omp {
struct Member;
}  // namespace weft::omp

namespace weft::omp::gnu {

// The compiler's layout.
struct Reductions {
  uintptr_t count;      // of `items()`
  uintptr_t bytes;      // for one thread
  uintptr_t base;       // the compiler: what it has to be aligned to; then ours: the memory of all threads
  uintptr_t allocator;  // -1: none
  Reductions* next;     // another array of this construct; that of the last one: ours, what is in force outside
  uintptr_t last;       // ours: it is this construct's last one
  uintptr_t end;        // ours: of the memory

  struct Item {
    void* original;
    uintptr_t offset;  // in a thread's memory
    uintptr_t spare;
  };
  const Item* items() const { return reinterpret_cast<const Item*>(this + 1); }
};

// What tasks that the member makes now take part in. Null: nothing.
Reductions* reductions_in_force(const Member& member);
// Makes the memory of a construct's arrays, for so many threads.
void allocate(Reductions* first, unsigned threads);
// Ties the end of the construct's chain to what is in force outside.
void tie(Reductions* first, Reductions* outside);
// Frees the memory.
void release(Reductions* first);
// Worksharing constructs: a task group of each member, that begins before the construct is entered and ends with
// GOMP_workshare_task_reduction_unregister(). Once in it: `shared` is the array of whoever has made the construct, which
// has memory.
void workshare_group_begin(Member& member);
void workshare_group_join(Member& member, Reductions* own, const Reductions* shared);
// LoopSpec::made of constructs with reductions.
void allocate_for_team(void* reductions);

}  // namespace weft::omp::gnu
