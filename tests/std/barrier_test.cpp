// Barriers, latches and semaphores, as programs for <barrier>, <latch> and <semaphore> use them.
#include <array>
#include <atomic>
#include <chrono>
#include <vector>

#include "par.hpp"

namespace {

using namespace std::chrono_literals;

class StdBarrier : public ParTest {};
INSTANTIATE_TEST_SUITE_P(Workers, StdBarrier, kParWorkers);

// Each thread has a part of a line; a cell becomes the sum of its neighbours.
TEST_P(StdBarrier, AStencil) {
  constexpr std::size_t kThreads = 4;
  constexpr std::size_t kCells = 64;
  constexpr int kSteps = 20;
  std::array<std::vector<unsigned>, 2> line;
  line.fill(std::vector<unsigned>(kCells, 1));
  auto expected = line;
  for (int step = 0; step < kSteps; ++step) {
    for (std::size_t i = 0; i < kCells; ++i) {
      expected[1][i] = expected[0][(i + kCells - 1) % kCells] + expected[0][(i + 1) % kCells];
    }
    std::swap(expected[0], expected[1]);
  }
  int steps = 0;
  auto next_step = [&]() noexcept {
    std::swap(line[0], line[1]);
    ++steps;
  };
  par::barrier done(kThreads, next_step);
  std::vector<par::jthread> threads;
  for (std::size_t t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      for (int step = 0; step < kSteps; ++step) {
        for (std::size_t i = t * kCells / kThreads; i < (t + 1) * kCells / kThreads; ++i) {
          line[1][i] = line[0][(i + kCells - 1) % kCells] + line[0][(i + 1) % kCells];
        }
        done.arrive_and_wait();
      }
    });
  }
  threads.clear();
  EXPECT_EQ(steps, kSteps);
  EXPECT_EQ(line[0], expected[0]);
}

TEST_P(StdBarrier, ArriveFirstAndWaitLater) {
  par::barrier<> barrier(3);
  std::atomic<int> arrived = 0;
  std::vector<par::jthread> threads;
  for (int i = 0; i < 3; ++i) {
    threads.emplace_back([&] {
      for (int round = 1; round <= 20; ++round) {
        ++arrived;
        auto token = barrier.arrive();
        par::this_thread::yield();
        barrier.wait(std::move(token));
        EXPECT_GE(arrived, 3 * round);
      }
    });
  }
  threads.clear();
  par::barrier<> alone(2);
  auto token = alone.arrive(2);
  alone.wait(std::move(token));
  EXPECT_GT(par::barrier<>::max(), 1000000);
}

TEST_P(StdBarrier, DropsOut) {
  par::barrier<> barrier(4);
  std::atomic<int> rounds = 0;
  std::vector<par::jthread> threads;
  for (int i = 1; i <= 4; ++i) {
    threads.emplace_back([&, i] {
      for (int round = 0; round < i; ++round) {
        ++rounds;
        barrier.arrive_and_wait();
      }
      barrier.arrive_and_drop();
    });
  }
  threads.clear();
  EXPECT_EQ(rounds, 1 + 2 + 3 + 4);
}

TEST_P(StdBarrier, ALatchThatStartsAndOneThatEnds) {
  constexpr int kThreads = 6;
  par::latch ready(kThreads);
  par::latch start(1);
  par::latch done(kThreads);
  std::atomic<int> running = 0;
  std::vector<par::jthread> threads;
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([&] {
      ready.count_down();
      start.wait();
      ++running;
      done.count_down();
    });
  }
  ready.wait();
  EXPECT_TRUE(ready.try_wait());
  EXPECT_FALSE(start.try_wait());
  EXPECT_EQ(running, 0);
  start.count_down();
  done.wait();
  EXPECT_EQ(running, kThreads);
  par::latch several(5);
  several.count_down(3);
  several.arrive_and_wait(2);
  par::latch none(0);
  none.wait();
  EXPECT_GT(par::latch::max(), 1000000);
}

TEST_P(StdBarrier, SemaphoresPassTheTurn) {
  par::binary_semaphore ping(0);
  par::binary_semaphore pong(0);
  int turns = 0;
  par::jthread other([&] {
    for (int i = 0; i < 200; ++i) {
      ping.acquire();
      EXPECT_EQ(turns % 2, 1);
      ++turns;
      pong.release();
    }
  });
  for (int i = 0; i < 200; ++i) {
    ++turns;
    ping.release();
    pong.acquire();
    EXPECT_EQ(turns % 2, 0);
  }
  EXPECT_EQ(turns, 400);
}

TEST_P(StdBarrier, ASemaphoreLimitsHowManyAreInside) {
  par::counting_semaphore<3> places(3);
  std::atomic<int> inside = 0;
  std::atomic<int> most = 0;
  std::vector<par::jthread> threads;
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([&] {
      for (int k = 0; k < 50; ++k) {
        places.acquire();
        const int now = ++inside;
        for (int seen = most; seen < now && !most.compare_exchange_weak(seen, now);) {
        }
        par::this_thread::yield();
        --inside;
        places.release();
      }
    });
  }
  threads.clear();
  EXPECT_LE(most, 3);
  EXPECT_GE(par::counting_semaphore<3>::max(), 3);
}

TEST_P(StdBarrier, SemaphoreTriesAndTimesOut) {
  par::counting_semaphore<> semaphore(2);
  EXPECT_TRUE(semaphore.try_acquire());
  EXPECT_TRUE(semaphore.try_acquire_for(1h));
  EXPECT_FALSE(semaphore.try_acquire());
  const auto before = std::chrono::steady_clock::now();
  EXPECT_FALSE(semaphore.try_acquire_for(20ms));
  EXPECT_GE(std::chrono::steady_clock::now() - before, 20ms);
  EXPECT_FALSE(semaphore.try_acquire_until(before));
  EXPECT_FALSE(semaphore.try_acquire_until(std::chrono::system_clock::now() + 5ms));
  par::jthread releaser([&] { semaphore.release(3); });
  EXPECT_TRUE(semaphore.try_acquire_for(1h));
  EXPECT_TRUE(semaphore.try_acquire_until(std::chrono::steady_clock::now() + 1h));
  semaphore.acquire();
  EXPECT_FALSE(semaphore.try_acquire());
}

}  // namespace
