/* led.c: what the process is sent is handled by the main thread, which has it open, while threads of its team compute: more of them than there
 * are processors. Languages' runtimes know no other thread (Perl's dies of it). And none is lost on its way there: else this does not end.
 */
#define _GNU_SOURCE
#include <omp.h>
#include <pthread.h>
#include <signal.h>
#include <sys/time.h>
#include <unistd.h>

#include "check.h"

static pthread_t leader;
static int by_leader, by_others, wrong_sender;

enum { kMessages = 200 };
static int answered;
static void answer(int number) { (void)number, __atomic_fetch_add(&answered, 1, __ATOMIC_RELEASE); }
static void* send_one_by_one(void* unused) {
  for (int i = 0; i < kMessages; ++i) {
    CHECK(kill(getpid(), SIGUSR1) == 0);
    while (__atomic_load_n(&answered, __ATOMIC_ACQUIRE) <= i) usleep(50);
  }
  return unused;
}

static void handle(int number, siginfo_t* info, void* context) {
  (void)number, (void)context;
  __atomic_fetch_add(pthread_equal(pthread_self(), leader) ? &by_leader : &by_others, 1, __ATOMIC_RELAXED);
  if (info->si_code != SI_KERNEL) __atomic_fetch_add(&wrong_sender, 1, __ATOMIC_RELAXED);
}

int main(void) {
  enum { kMilliseconds = 5, kRegions = 20, kPerRegion = 20 };
  leader = pthread_self();
  /* It has it open also while it handles the one before. */
  const struct sigaction action = {.sa_sigaction = handle, .sa_flags = SA_SIGINFO | SA_NODEFER};
  CHECK(sigaction(SIGALRM, &action, NULL) == 0);
  unsigned sum = 0;
  for (int region = 0; region < kRegions; ++region) {
    if (region == 1) { /* the main thread has become a ULT */
      const struct itimerval often = {{0, kMilliseconds * 1000}, {0, kMilliseconds * 1000}};
      CHECK(setitimer(ITIMER_REAL, &often, NULL) == 0);
    }
    PRAGMA(omp parallel num_threads(8) reduction(+ : sum)) {
      const double end = omp_get_wtime() + 1e-3 * kMilliseconds * kPerRegion;
      while (omp_get_wtime() < end)
        for (int i = 0; i < 1000; ++i) sum = sum * 1103515245 + 12345;
    }
  }
  /* Of 380, but several may come as one. */
  printf("%d by the main thread, %d by others (%u)\n", by_leader, by_others, sum);
  CHECK(by_leader >= 40 && by_others == 0 && wrong_sender == 0);

  CHECK(setitimer(ITIMER_REAL, &(struct itimerval){{0, 0}, {0, 0}}, NULL) == 0);
  CHECK(signal(SIGUSR1, answer) != SIG_ERR);
  pthread_t sender;
  CHECK(pthread_create(&sender, NULL, send_one_by_one, NULL) == 0);
  PRAGMA(omp parallel num_threads(8))
  while (__atomic_load_n(&answered, __ATOMIC_RELAXED) < kMessages) {
  }
  CHECK(pthread_join(sender, NULL) == 0 && answered == kMessages);
  return check_end();
}
