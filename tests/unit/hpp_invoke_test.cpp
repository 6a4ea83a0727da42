// weft::invoke.
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>

#include "support/runtime_fixture.hpp"
#include "weft/weft.hpp"

namespace {

using namespace weft_test;

class HppInvoke : public WorkersTest {};
INSTANTIATE_TEST_SUITE_P(Workers, HppInvoke, kWorkerCounts);

TEST_P(HppInvoke, ReturnsWhatTheCallReturns) {
  EXPECT_EQ(weft::invoke([](int a, int b) { return a + b; }, 2, 3), 5);
  std::string text = "a";
  std::string& same = weft::invoke([](std::string& s) -> std::string& { return s += "b"; }, text);
  EXPECT_EQ(&same, &text);
  EXPECT_EQ(text, "ab");
  const std::unique_ptr<int> passed =
      weft::invoke([](std::unique_ptr<int> p) { return p; }, std::make_unique<int>(4));
  EXPECT_EQ(*passed, 4);
  struct Object {
    int twice(int n) const { return 2 * n; }
    int member = 3;
  } object;
  EXPECT_EQ(weft::invoke(&Object::twice, object, 4), 8);
  weft::invoke(&Object::member, object) = 5;
  EXPECT_EQ(object.member, 5);
  std::string&& moved = weft::invoke([&]() -> std::string&& { return std::move(text); });
  EXPECT_EQ(&moved, &text);
}

TEST_P(HppInvoke, NothingIsCopied) {
  struct Fixed {
    explicit Fixed(int& n) : calls(n) {}
    Fixed(const Fixed&) = delete;
    Fixed& operator=(const Fixed&) = delete;
    void operator()(const Fixed& other) & { calls += &other == this; }
    int& calls;
  };
  int calls = 0;
  Fixed fixed(calls);
  weft::invoke(fixed, fixed);
  EXPECT_EQ(calls, 1);
}

TEST_P(HppInvoke, RunsInAUltOfItsOwn) {
  const weft_unit_t self = weft_self();
  EXPECT_TRUE(weft::invoke([&] { return weft_self() != self && weft_is_ult(weft_self()); }));
  on_klt([] {
    EXPECT_EQ(weft_self(), nullptr);
    EXPECT_TRUE(weft::invoke([] {
      weft::this_thread::yield();
      return weft_is_ult(weft_self());
    }));
  });
}

TEST_P(HppInvoke, TheExceptionArrives) {
  EXPECT_THROW(weft::invoke([] { throw std::out_of_range("inside"); }), std::out_of_range);
  on_klt([] {
    EXPECT_THROW(weft::invoke([]() -> int { throw std::out_of_range("inside"); }),
                 std::out_of_range);
  });
}

TEST_P(HppInvoke, AUltThatEndsEarlyHasNoResult) {
  for (const bool by_exception : {true, false}) {
    try {
      weft::invoke([by_exception] {
        if (by_exception) {
          weft::this_thread::exit();
        }
        weft_exit();
      });
      ADD_FAILURE();
    } catch (const weft::error& e) {
      EXPECT_EQ(e.code().value(), WEFT_ERR_STATE);
    }
  }
}

TEST_P(HppInvoke, InATasklet) {
  in_tasklet([] {
    try {
      weft::invoke([] {});
      ADD_FAILURE();
    } catch (const weft::error& e) {
      EXPECT_EQ(e.code().value(), WEFT_ERR_CONTEXT);
    }
  });
}

TEST(HppInvokeStatic, WithoutARuntime) {
  ASSERT_FALSE(weft_initialized());
  try {
    weft::invoke([] {});
    ADD_FAILURE();
  } catch (const weft::error& e) {
    EXPECT_EQ(e.code().value(), WEFT_ERR_UNINITIALIZED);
  }
}

}  // namespace
