/* Detached tasks, fulfilled by a thread that has a signal blocked, as a handler would, while the team's threads are preempted in malloc(). */
#include <omp.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>

#include "check.h"

enum { kPlaces = 4096, kMost = 2000, kBlocks = 64 };

static _Atomic uint64_t events[kPlaces];
static _Atomic unsigned made;
static _Atomic int over, waiting;
static _Atomic long ran;

static void* fulfill(void* arg) {
  sigset_t one;
  sigemptyset(&one);
  sigaddset(&one, SIGUSR1);
  pthread_sigmask(SIG_BLOCK, &one, NULL);
  for (unsigned next = 0; !over || next != made;) {
    const uint64_t event = atomic_exchange(&events[next % kPlaces], 0);
    if (event == 0) {
      usleep(20);
      continue;
    }
    ++next;
    omp_fulfill_event((omp_event_handle_t)event);
    --waiting;
  }
  return arg;
}

static void use_malloc(void) {
  void* blocks[kBlocks];
  for (int i = 0; i < kBlocks; ++i) blocks[i] = malloc(1100 + (size_t)i * 50);
  for (int i = 0; i < kBlocks; i += 2) free(blocks[i]);
  for (int i = 1; i < kBlocks; i += 2) free(blocks[i]);
}

int main(void) {
  pthread_t fulfiller;
  CHECK(pthread_create(&fulfiller, NULL, fulfill, NULL) == 0);
  const double end = omp_get_wtime() + 0.5;
#pragma omp parallel num_threads(8)
  {
    while (omp_get_wtime() < end) {
      use_malloc();
      if (waiting >= kMost) continue;
      ++waiting;
      omp_event_handle_t event;
#pragma omp task detach(event)
      ++ran;
      events[made++ % kPlaces] = (uint64_t)event;
    }
#pragma omp barrier
#pragma omp single
    over = 1;
  }
  CHECK(pthread_join(fulfiller, NULL) == 0);
  CHECK(waiting == 0 && ran == made);
  return check_end();
}
