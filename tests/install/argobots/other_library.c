/* Another library of Argobots' interface, as far as own_mutex.c needs it: it knows nothing of mutexes in the program's own code. */
#include <stdint.h>

#define SUCCESS 0
#define INV_MUTEX 20
#define LOCKED 40

static int held;

int ABT_init(int argc, char** argv) { return argc < 0 || argv == 0; }
int ABT_finalize(void) { return SUCCESS; }
int ABT_mutex_trylock(int* mutex) {
  if ((uintptr_t)mutex < 64) return INV_MUTEX;
  if (held) return LOCKED;
  held = 1;
  return SUCCESS;
}
int ABT_mutex_lock(int* mutex) { return ABT_mutex_trylock(mutex); }
int ABT_mutex_spinlock(int* mutex) { return ABT_mutex_trylock(mutex); }
int ABT_mutex_unlock(int* mutex) {
  (void)mutex;
  held = 0;
  return SUCCESS;
}
