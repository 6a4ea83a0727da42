// weft::channel.
#include <array>
#include <chrono>
#include <iterator>
#include <memory>
#include <numeric>
#include <ranges>
#include <stdexcept>
#include <string>
#include <vector>

#include "support/runtime_fixture.hpp"
#include "weft/weft.hpp"

namespace {

using namespace weft_test;
using namespace std::chrono_literals;
using weft::channel_status;

class HppChannel : public WorkersTest {};
INSTANTIATE_TEST_SUITE_P(Workers, HppChannel, kWorkerCounts);

static_assert(std::ranges::input_range<weft::channel<int>>);
static_assert(std::ranges::input_range<weft::channel<std::unique_ptr<int>>>);
static_assert(!std::is_copy_constructible_v<weft::channel<int>>);

TEST_P(HppChannel, EachElementGoesToOneReceiver) {
  for (const std::size_t capacity : {0, 1, 7}) {
    weft::channel<int> numbers(capacity);
    std::atomic<long> sum = 0;
    std::atomic<int> count = 0;
    std::vector<weft::jthread> receivers;
    for (int i = 0; i < 3; ++i) {
      receivers.emplace_back([&] {
        for (const int n : numbers) {
          sum += n;
          ++count;
        }
      });
    }
    std::vector<weft::jthread> senders;
    for (int s = 0; s < 3; ++s) {
      senders.emplace_back([&numbers, s] {
        for (int i = 0; i < 200; ++i) {
          ASSERT_TRUE(numbers.send(s * 200 + i));
        }
      });
    }
    senders.clear();
    EXPECT_TRUE(numbers.close());
    EXPECT_FALSE(numbers.close());
    receivers.clear();
    EXPECT_EQ(count, 600);
    EXPECT_EQ(sum, 600L * 599 / 2);
  }
}

TEST_P(HppChannel, FirstInFirstOutAndDrainedAfterClose) {
  weft::channel<std::string> words(3);
  const std::string a = "a";
  EXPECT_EQ(words.size(), 0u);
  EXPECT_TRUE(words.send(a));
  EXPECT_TRUE(words.send("b"));
  EXPECT_EQ(words.try_send("c"), channel_status::done);
  std::string kept = "d";
  EXPECT_EQ(words.try_send(std::move(kept)), channel_status::busy);
  EXPECT_EQ(kept, "d");
  EXPECT_EQ(words.send_for(std::move(kept), 5ms), channel_status::timeout);
  EXPECT_EQ(words.send_for(a, -1s), channel_status::timeout);
  EXPECT_EQ(words.send_until(std::move(kept), std::chrono::system_clock::now() + 5ms),
            channel_status::timeout);
  EXPECT_EQ(kept, "d");
  EXPECT_EQ(words.size(), 3u);
  words.close();
  EXPECT_FALSE(words.send(std::move(kept)));
  EXPECT_EQ(words.try_send(a), channel_status::closed);
  EXPECT_EQ(words.send_until(a, std::chrono::steady_clock::now() + 1h), channel_status::closed);
  EXPECT_EQ(kept, "d");
  std::vector<std::string> got;
  for (std::string& w : words) {
    got.push_back(std::move(w));
  }
  EXPECT_EQ(got, (std::vector<std::string>{"a", "b", "c"}));
  const auto none = words.receive();
  EXPECT_FALSE(none);
  EXPECT_EQ(none.status(), channel_status::closed);
}

TEST_P(HppChannel, ReceiveSaysWhyThereIsNothing) {
  weft::channel<int> numbers(1);
  EXPECT_EQ(numbers.try_receive().status(), channel_status::busy);
  EXPECT_EQ(numbers.receive_for(5ms).status(), channel_status::timeout);
  EXPECT_EQ(numbers.receive_until(std::chrono::system_clock::now() + 5ms).status(),
            channel_status::timeout);
  numbers.send(4);
  const auto four = numbers.receive_for(1h);
  EXPECT_EQ(four.status(), channel_status::done);
  EXPECT_EQ(four, 4);
  weft::jthread sender([&] { numbers.send(5); });
  EXPECT_EQ(numbers.receive_until(std::chrono::steady_clock::now() + 1h), 5);
  weft::jthread closer([&] { numbers.close(); });
  EXPECT_EQ(numbers.receive().status(), channel_status::closed);
  EXPECT_EQ(numbers.try_receive().status(), channel_status::closed);
}

TEST_P(HppChannel, WhatOnlyMovesAndWhatIsLarge) {
  weft::channel<std::unique_ptr<int>> owners(2);
  owners.send(std::make_unique<int>(1));
  owners.send(std::make_unique<int>(2));
  EXPECT_EQ(**owners.receive(), 1);
  weft::channel<std::array<long, 100>> large(2);
  std::array<long, 100> numbers;
  std::iota(numbers.begin(), numbers.end(), 0);
  large.send(numbers);
  EXPECT_EQ(*large.receive(), numbers);
  struct alignas(64) Aligned {
    explicit Aligned(int v) : value(v) {}
    int value;
  };
  weft::channel<Aligned> aligned(1);
  aligned.send(Aligned(3));
  EXPECT_EQ(aligned.receive()->value, 3);
}

TEST_P(HppChannel, DropsWhatIsLeft) {
  const auto counted = std::make_shared<int>(0);
  {
    weft::channel<std::shared_ptr<int>> left(4);
    left.send(counted);
    left.send(counted);
    EXPECT_EQ(counted.use_count(), 3);
  }
  EXPECT_EQ(counted.use_count(), 1);
}

TEST_P(HppChannel, AMoveThatThrows) {
  struct Sharp {
    Sharp() = default;
    Sharp(Sharp&& other) : moves(other.moves - 1) {
      if (moves < 0) {
        throw std::runtime_error("cut");
      }
    }
    Sharp& operator=(Sharp&&) = default;
    int moves = 0;
  };
  weft::channel<Sharp> sharp(2);
  EXPECT_THROW(sharp.send(Sharp()), std::runtime_error);
  EXPECT_EQ(sharp.size(), 0u);
  Sharp once;
  once.moves = 1;
  EXPECT_TRUE(sharp.send(std::move(once)));
  EXPECT_THROW(sharp.receive(), std::runtime_error);
  EXPECT_EQ(sharp.try_receive().status(), channel_status::busy);
}

TEST_P(HppChannel, BetweenUltsAndKernelThreads) {
  weft::channel<int> there(0);
  weft::channel<int> back(0);
  weft::thread echo([&] {
    for (const int n : there) {
      back.send(n + 1);
    }
    back.close();
  });
  on_klt([&] {
    for (int i = 0; i < 100; ++i) {
      EXPECT_TRUE(there.send(i));
      EXPECT_EQ(back.receive(), i + 1);
    }
    there.close();
    EXPECT_EQ(back.receive().status(), channel_status::closed);
  });
  echo.join();
}

TEST_P(HppChannel, InATasklet) {
  weft::channel<int> numbers(1);
  in_tasklet([&] {
    EXPECT_TRUE(numbers.send(1));
    EXPECT_EQ(numbers.try_send(2), channel_status::busy);
    EXPECT_THROW(numbers.send(2), weft::error);
    EXPECT_EQ(numbers.receive(), 1);
    EXPECT_THROW(numbers.receive(), weft::error);
  });
}

TEST(HppChannelStatic, WithoutARuntime) {
  ASSERT_FALSE(weft_initialized());
  weft::channel<int> numbers(1);
  std::thread sender([&] {
    for (int i = 0; i < 10; ++i) {
      numbers.send(i);
    }
    numbers.close();
  });
  int sum = 0;
  for (const int n : numbers) {
    sum += n;
  }
  sender.join();
  EXPECT_EQ(sum, 45);
}

}  // namespace
