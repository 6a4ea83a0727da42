/* refused.c: a program that handles all real-time signals, as some languages' runtimes do, has neither preemption nor awareness of
 * blocking. WEFT_OMP_VERBOSE (the environment has it) tells that.
 */
#define _GNU_SOURCE
#include <omp.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "check.h"

static void ignore(int number) { (void)number; }

int main(void) {
  const struct sigaction action = {.sa_handler = ignore};
  for (int number = SIGRTMIN; number <= SIGRTMAX; ++number) CHECK(sigaction(number, &action, NULL) == 0);
  int ends[2];
  const int terminal = dup(STDERR_FILENO);
  CHECK(pipe(ends) == 0 && dup2(ends[1], STDERR_FILENO) == STDERR_FILENO);
  int threads = 0;
#pragma omp parallel num_threads(4) reduction(+ : threads)
  threads += 1;
  /* One of them comes from a thread that nobody waits for. */
  char text[4096] = "";
  size_t length = 0;
  while (!strstr(text, "blocks in the kernel keeps its worker") || !strstr(text, "computes or spins keeps its worker")) {
    const ssize_t bytes = read(ends[0], text + length, sizeof text - 1 - length);
    if (bytes <= 0) break;
    length += (size_t)bytes;
  }
  CHECK(dup2(terminal, STDERR_FILENO) == STDERR_FILENO);
  CHECK(threads == 4);
  CHECK(strstr(text, "blocks in the kernel keeps its worker") && strstr(text, "computes or spins keeps its worker"));
  return check_end();
}
