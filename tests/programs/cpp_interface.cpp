// weft.hpp in an ordinary program: also shows that exceptions and their types pass between it and
// the library in each way of linking.
#include <weft/weft.hpp>

#include <cstdio>
#include <stdexcept>

namespace {

long fib(long n) {
  if (n < 2) {
    return n;
  }
  const auto [a, b] = weft::fork_join([=] { return fib(n - 1); }, [=] { return fib(n - 2); });
  return a + b;
}

int failures = 0;
void check(bool condition, const char* what) {
  if (!condition) {
    std::fprintf(stderr, "not true: %s\n", what);
    ++failures;
  }
}

}  // namespace

int main() {
  const weft::runtime rt(weft::options{.workers = 2});
  check(fib(20) == 6765, "fib(20)");
  weft::thread thrower([] {
    weft::this_thread::yield();
    throw std::runtime_error("carried");
  });
  bool caught = false;
  try {
    thrower.join();
  } catch (const std::runtime_error&) {
    caught = true;
  }
  check(caught, "an exception arrives at the join");
  weft::thread leaver([] {
    weft::this_thread::yield();
    weft::this_thread::exit();
  });
  leaver.join();
  const long sum = weft::parallel_reduce(0L, 1000L, 0L, [](long i) { return i; }, std::plus<>());
  check(sum == 499500, "the sum of a reduction");
  weft::task_group group;
  std::atomic<int> count = 0;
  for (int i = 0; i < 100; ++i) {
    group.run([&] { ++count; });
  }
  group.wait();
  check(count == 100, "a task group");
  try {
    weft::thread().join();
    check(false, "join of no thread");
  } catch (const weft::error& e) {
    check(e.code() == std::errc::invalid_argument, "the code of an error");
  }
  return failures;
}
