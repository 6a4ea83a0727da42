#include <weft/fork_join.hpp>

#include "fib/kernel.hpp"
#include "library/weft.hpp"

namespace {

long fib(int n) {
  if (n < 2) {
    return n;
  }
  const auto [a, b] = weft::fork_join([n] { return fib(n - 1); }, [n] { return fib(n - 2); });
  return a + b;
}

}  // namespace

int main(int argc, char** argv) {
  return bench::fib_tasks<bench::Weft>(argc, argv, [](auto&, int n) { return fib(n); });
}
