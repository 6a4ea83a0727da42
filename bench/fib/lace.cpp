#include "library/lace.hpp"

#include "fib/kernel.hpp"

TASK_1(long, fib_task, int, n) {
  if (n < 2) {
    return n;
  }
  SPAWN(fib_task, n - 1);
  const long called = CALL(fib_task, n - 2);
  return SYNC(fib_task) + called;
}

int main(int argc, char** argv) {
  return bench::fib_tasks<bench::Lace>(argc, argv, [](auto&, int n) { return RUN(fib_task, n); });
}
