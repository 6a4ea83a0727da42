// memory.cpp: memory for compilers (allocate directives and clauses), and the malloc() family of Intel's.
//
// The latter has buffers of its own per thread in other runtimes; malloc() has them as well.
#include <cstdlib>
#include <cstring>

#include "llvm/ident.hpp"
#include "team.hpp"

using namespace weft::omp;

using Allocator = uintptr_t;
using Memspace = uintptr_t;
extern "C" {
void* omp_alloc(size_t bytes, Allocator allocator);
void* omp_aligned_alloc(size_t align, size_t bytes, Allocator allocator);
void* omp_calloc(size_t n, size_t bytes, Allocator allocator);
void* omp_realloc(void* memory, size_t bytes, Allocator allocator, Allocator free_allocator);
void omp_free(void* memory, Allocator allocator);
Allocator omp_init_allocator(Memspace memspace, int ntraits, const void* traits);
void omp_destroy_allocator(Allocator allocator);
void omp_set_default_allocator(Allocator allocator);
Allocator omp_get_default_allocator(void);
}

WEFT_OMP_API void* __kmpc_alloc(int, size_t bytes, Allocator allocator) { return omp_alloc(bytes, allocator); }
WEFT_OMP_API void* __kmpc_aligned_alloc(int, size_t align, size_t bytes, Allocator allocator) {
  return omp_aligned_alloc(align, bytes, allocator);
}
WEFT_OMP_API void* __kmpc_calloc(int, size_t n, size_t bytes, Allocator allocator) {
  return omp_calloc(n, bytes, allocator);
}
WEFT_OMP_API void* __kmpc_realloc(int, void* memory, size_t bytes, Allocator allocator, Allocator free_allocator) {
  return omp_realloc(memory, bytes, allocator, free_allocator);
}
WEFT_OMP_API void __kmpc_free(int, void* memory, Allocator allocator) { omp_free(memory, allocator); }
WEFT_OMP_API Allocator __kmpc_init_allocator(int, Memspace memspace, int ntraits, void* traits) {
  return omp_init_allocator(memspace, ntraits, traits);
}
WEFT_OMP_API void __kmpc_destroy_allocator(int, Allocator allocator) { omp_destroy_allocator(allocator); }
WEFT_OMP_API void __kmpc_set_default_allocator(int, Allocator allocator) { omp_set_default_allocator(allocator); }
WEFT_OMP_API Allocator __kmpc_get_default_allocator(int) { return omp_get_default_allocator(); }

// ---- kmp_malloc() and the like

namespace {

// Any power of two; malloc()'s own alignment is the least.
void* aligned(size_t bytes, size_t align) {
  void* memory = nullptr;
  if (align < sizeof(void*)) align = sizeof(void*);
  return posix_memalign(&memory, align, bytes) == 0 ? memory : nullptr;
}

}  // namespace

WEFT_OMP_API void* kmpc_malloc(size_t bytes) { return std::malloc(bytes); }
WEFT_OMP_API void* kmpc_aligned_malloc(size_t bytes, size_t align) { return aligned(bytes, align); }
WEFT_OMP_API void* kmpc_calloc(size_t n, size_t bytes) { return std::calloc(n, bytes); }
WEFT_OMP_API void* kmpc_realloc(void* memory, size_t bytes) { return std::realloc(memory, bytes); }
WEFT_OMP_API void kmpc_free(void* memory) { std::free(memory); }

WEFT_OMP_API void* kmp_malloc(size_t bytes) { return std::malloc(bytes); }
WEFT_OMP_API void* kmp_aligned_malloc(size_t bytes, size_t align) { return aligned(bytes, align); }
WEFT_OMP_API void* kmp_calloc(size_t n, size_t bytes) { return std::calloc(n, bytes); }
WEFT_OMP_API void* kmp_realloc(void* memory, size_t bytes) { return std::realloc(memory, bytes); }
WEFT_OMP_API void kmp_free(void* memory) { std::free(memory); }

// Fortran's.
WEFT_OMP_API void* kmp_malloc_(const size_t* bytes) { return std::malloc(*bytes); }
WEFT_OMP_API void* kmp_aligned_malloc_(const size_t* bytes, const size_t* align) { return aligned(*bytes, *align); }
WEFT_OMP_API void* kmp_calloc_(const size_t* n, const size_t* bytes) { return std::calloc(*n, *bytes); }
WEFT_OMP_API void* kmp_realloc_(void** memory, const size_t* bytes) { return std::realloc(*memory, *bytes); }
WEFT_OMP_API void kmp_free_(void** memory) { std::free(*memory); }

// libomp's own: zeroed.
WEFT_OMP_API void* ___kmp_allocate(size_t bytes) { return std::calloc(1, bytes); }
WEFT_OMP_API void ___kmp_free(void* memory) { std::free(memory); }
