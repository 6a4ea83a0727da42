// allocate.cpp: variables with an allocate clause.
#include <cstddef>
#include <cstdint>
#include <new>
#include <unordered_set>

#include "export.hpp"
#include "gnu/message.hpp"
#include "lock.hpp"

WEFT_OMP_API void* omp_aligned_alloc(size_t alignment, size_t bytes, uintptr_t allocator);
WEFT_OMP_API void omp_free(void* memory, uintptr_t allocator);

namespace weft::omp::gnu {
namespace {

// Fortran's allocatables that omp_alloc() has made: DEALLOCATE must know. Kept for the process.
struct Allocated {
  Lock lock{};
  std::unordered_set<void*> pointers;
};

Allocated& allocated() {
  alignas(Allocated) static char memory[sizeof(Allocated)];
  static auto* const set = new (memory) Allocated;
  return *set;
}

}  // namespace
}  // namespace weft::omp::gnu

using namespace weft::omp;

WEFT_OMP_API void* GOMP_alloc(size_t alignment, size_t bytes, uintptr_t allocator) {
  void* memory = omp_aligned_alloc(alignment, bytes, allocator);
  if (!memory && bytes) gnu::fail("Out of memory allocating %zu bytes", bytes);
  return memory;
}
WEFT_OMP_GNU(GOMP_alloc, "GOMP_5.0.1")

WEFT_OMP_API void GOMP_free(void* memory, uintptr_t allocator) { omp_free(memory, allocator); }
WEFT_OMP_GNU(GOMP_free, "GOMP_5.0.1")

WEFT_OMP_API void GOMP_add_alloc(void* memory) {
  gnu::Allocated& set = gnu::allocated();
  lock_acquire(set.lock);
  set.pointers.insert(memory);
  lock_release(set.lock);
}
WEFT_OMP_GNU(GOMP_add_alloc, "GOMP_5.1.2")

// Whether it is one; it is forgotten, since whoever asks frees it or gives it another size.
WEFT_OMP_API bool GOMP_is_alloc(void* memory) {
  gnu::Allocated& set = gnu::allocated();
  lock_acquire(set.lock);
  const bool is = set.pointers.erase(memory) != 0;
  lock_release(set.lock);
  return is;
}
WEFT_OMP_GNU(GOMP_is_alloc, "GOMP_5.1.2")
