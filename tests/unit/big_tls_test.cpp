// A program whose thread-local variables are larger than the stack that a KLT would need.
#include <algorithm>
#include <array>

#include "support/runtime_fixture.hpp"

namespace {

using namespace weft_test;

thread_local std::array<char, size_t{1} << 20> large = {1};

TEST(BigTls, WorkersHaveRoomForIt) {
  weft_options_t options{};
  options.workers = 2;
  ASSERT_TRUE(ok(weft_initialize(&options)));
  ASSERT_EQ(weft_worker_count(), 2u);
  std::atomic<unsigned> seen = 0;  // a bit for each worker
  std::atomic<int> wrong = 0;
  const auto fill = [&]() __attribute__((noinline)) {  // a unit may move by a yield: the address is looked up again
    if (large.front() != 1) ++wrong;
    std::fill(large.begin() + 1, large.end(), char{2});
    seen |= 1u << weft_worker_index(weft_worker_self());
  };
  const auto fill_all = [&] {
    for (fill(); seen != 3; fill()) weft_yield();
  };
  Call first(fill_all);
  Call second(fill_all);
  std::array<weft_unit_t, 2> units = {first.ult(), second.ult()};
  for (weft_unit_t& unit : units) EXPECT_TRUE(ok(weft_free(&unit)));
  EXPECT_EQ(wrong, 0);
  EXPECT_TRUE(ok(weft_finalize()));
}

}  // namespace
