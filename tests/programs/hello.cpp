// The first C++ program of the README, with its answer checked.
#include <cstdio>
#include <weft/weft.hpp>

static long fib(int n) {
  if (n < 2) return n;
  auto [a, b] = weft::fork_join([n] { return fib(n - 1); }, [n] { return fib(n - 2); });
  return a + b;
}

int main() {
  weft::runtime runtime;
  long result = 0;
  weft::thread thread([&] { result = fib(25); });
  thread.join();
  std::printf("fib(25) = %ld on %u workers\n", result, weft::runtime::workers());
  return result == 75025 ? 0 : 1;
}
