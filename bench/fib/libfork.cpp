#include "library/libfork.hpp"

#include "fib/kernel.hpp"

namespace {

constexpr auto kFib = [](auto fib, int n) LF_STATIC_CALL -> lf::task<long> {
  if (n < 2) {
    co_return n;
  }
  long forked = 0;
  long called = 0;
  co_await lf::fork(&forked, fib)(n - 1);
  co_await lf::call(&called, fib)(n - 2);
  co_await lf::join;
  co_return forked + called;
};

}  // namespace

int main(int argc, char** argv) {
  return bench::fib_tasks<bench::Libfork>(argc, argv,
                                          [](auto& lib, int n) { return lib.run(kFib, n); });
}
