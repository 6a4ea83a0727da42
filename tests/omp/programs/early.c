/* early.c: a program with an allocator of its own, by which nothing may be freed before main(), as GCL's programs have it. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "check.h"

static _Alignas(16) char heap[256 << 20];
static size_t used;
static int in_main;

static void* take(size_t size) {
  const size_t bytes = (size + 31) & ~(size_t)15;
  size_t* header = (size_t*)(heap + __atomic_fetch_add(&used, bytes, __ATOMIC_RELAXED));
  if ((char*)header + bytes > heap + sizeof heap) return NULL;
  *header = size;
  return header + 2;
}

void* malloc(size_t size) { return take(size); }
void* calloc(size_t n, size_t size) { return take(n * size); } /* never used before: zero */
void* realloc(void* old, size_t size) {
  void* made = take(size);
  const size_t before = old != NULL ? ((size_t*)old)[-2] : 0;
  if (made != NULL && before != 0) memcpy(made, old, before < size ? before : size);
  return made;
}
void* aligned_alloc(size_t alignment, size_t size) {
  char* made = take(size + alignment);
  return made != NULL ? made + (alignment - (uintptr_t)made % alignment) % alignment : NULL;
}
int posix_memalign(void** made, size_t alignment, size_t size) {
  *made = aligned_alloc(alignment, size);
  return *made != NULL ? 0 : 12;
}
void free(void* block) {
  static const char text[] = "early.c: freed before main()\n";
  if (block == NULL || in_main) return;
  if (write(STDERR_FILENO, text, sizeof text - 1) < 0) return;
  abort();
}

int main(void) {
  in_main = 1;
  int sum = 0;
#pragma omp parallel num_threads(4) reduction(+ : sum)
  sum += 1;
  CHECK(sum == 4);
  return check_end();
}
