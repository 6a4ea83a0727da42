/* Locks mutexes that one ES has to itself: in the program's own code, where it is optimised and the library has a part in that. */
#include <abt.h>
#include <stdio.h>

#define TIMES 100000

static ABT_mutex_memory mutex_memory = ABT_MUTEX_INITIALIZER;

int main(int argc, char** argv) {
  ABT_mutex mutex = ABT_MUTEX_MEMORY_GET_HANDLE(&mutex_memory);
  int failures = ABT_init(argc, argv) != ABT_SUCCESS;
  for (int i = 0; i < TIMES; ++i) {
    failures += ABT_mutex_lock(mutex) != ABT_SUCCESS;
    failures += ABT_mutex_trylock(mutex) != ABT_ERR_MUTEX_LOCKED;
    failures += ABT_mutex_unlock(mutex) != ABT_SUCCESS;
    failures += ABT_mutex_spinlock(mutex) != ABT_SUCCESS;
    failures += ABT_mutex_unlock(mutex) != ABT_SUCCESS;
    failures += ABT_mutex_trylock(mutex) != ABT_SUCCESS;
    failures += ABT_mutex_unlock(mutex) != ABT_SUCCESS;
  }
  failures += ABT_mutex_lock(ABT_MUTEX_NULL) != ABT_ERR_INV_MUTEX;
  failures += ABT_finalize() != ABT_SUCCESS;
  for (int i = 0; i < 2; ++i) { /* nobody has it to himself any more */
    failures += ABT_mutex_lock(mutex) != ABT_SUCCESS;
    failures += ABT_mutex_unlock(mutex) != ABT_SUCCESS;
  }
  printf("%d failures\n", failures);
  return failures != 0;
}
