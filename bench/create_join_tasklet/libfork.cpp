#include "library/libfork.hpp"

#include "create_join_tasklet/kernel.hpp"

namespace {

constexpr auto kOne = [](auto, uint32_t* done) LF_STATIC_CALL -> lf::task<void> {
  bench::count_one(done);
  co_return;
};

constexpr auto kRounds = [](auto, uint64_t n) LF_STATIC_CALL -> lf::task<void> {
  for (uint64_t round = 0; round < n; ++round) {
    uint32_t done = 0;
    for (int i = 0; i < bench::kInFlight; ++i) {
      co_await lf::fork(kOne)(&done);
    }
    co_await lf::join;
    bench::check(done == bench::kInFlight, "not every task has run once");
  }
};

}  // namespace

int main(int argc, char** argv) {
  const bench::Setup setup(argc, argv, {});
  bench::report_best<bench::Libfork>(setup, "ns", bench::Mode::kPlain, [&](auto& lib) {
    return bench::time_per_op(setup, bench::kInFlight, [&](uint64_t n) { lib.run(kRounds, n); });
  });
}
