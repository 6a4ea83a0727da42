#include "library/tbb.hpp"

#include "fib/kernel.hpp"

namespace {

long fib(int n) {
  if (n < 2) {
    return n;
  }
  long forked = 0;
  tbb::task_group group;
  group.run([&forked, n] { forked = fib(n - 1); });
  const long called = fib(n - 2);
  group.wait();
  return forked + called;
}

}  // namespace

int main(int argc, char** argv) {
  return bench::fib_tasks<bench::Tbb>(
      argc, argv, [](auto& lib, int n) { return lib.run([n] { return fib(n); }); });
}
