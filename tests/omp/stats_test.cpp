// What threads count.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <new>
#include <string>

#include "barrier.hpp"
#include "omp/in_parallel.hpp"
#include "omp/spawn.hpp"
#include "os/clock.hpp"
#include "pieces.hpp"
#include "region.hpp"
#include "stats.hpp"
#include "task.hpp"

namespace {

using namespace weft::omp;

// What all threads together have counted under this name.
long told(const std::string& name) {
  const std::string text = stats_text();
  const size_t at = text.find("  " + name + " ");
  return at != std::string::npos ? std::strtol(text.c_str() + at + 2 + name.size(), nullptr, 10) : -1;
}

double seconds_told(const std::string& name) {
  const std::string text = stats_text();
  const size_t at = text.find("  " + name + " ");
  return at != std::string::npos ? std::strtod(text.c_str() + at + 2 + name.size(), nullptr) : -1;
}

TEST(OmpStats, WhatHasBeenDone) {
  ::setenv("WEFT_OMP_STATS", "true", 1);  // before the first use
  this_thread();
  EXPECT_EQ(stats_text(), "");
  for (int i = 0; i < 10; ++i) in_parallel(3, [](Member&) {});
  in_parallel(1, [](Member&) {});
  EXPECT_EQ(told("regions"), 10);
  EXPECT_NE(stats_text().find("10, 9 with all threads there\n"), std::string::npos) << stats_text();
  EXPECT_EQ(told("regions of one thread"), 1);
  EXPECT_EQ(told("threads started"), 2);
  in_parallel(3, [](Member& member) {
    for (int i = 0; i < 5; ++i) barrier(member);
    if (member.num == 0) {
      for (int i = 0; i < 20; ++i) task_start(member, task_create(member, {.run = [](Task*) {}}));
    }
  });
  EXPECT_EQ(told("barriers, of each thread"), 15);
  EXPECT_EQ(told("tasks"), 20);
}

// Ranges, and what stands for a whole loop, are none of the program's tasks.
TEST(OmpStats, ALoopsTasksAreItsPieces) {
  ::setenv("WEFT_OMP_STATS", "true", 1);
  this_thread();
  const long before = std::max(0L, told("tasks"));
  long pieces = 0;
  for (const When when : {When::kNow, When::kDeferred, When::kWaited}) {
    for (const uint64_t count : {1, 10, 1000}) {
      in_single(2, [&](Member& member) {
        auto* loop = new (pieces_memory(sizeof(Pieces))) Pieces;
        loop->count = count;
        loop->prepare = [](const Pieces&, uint64_t, Task*) {};
        loop->run = [](Task*) {};
        start_pieces(member, loop, when);
      });
      pieces += static_cast<long>(count);
    }
  }
  in_single(2, [&](Member& member) { task_unused(member, task_create(member, {.run = [](Task*) {}})); });
  EXPECT_EQ(told("tasks") - before, pieces);
}

TEST(OmpStats, TheTimeThatOneWaitsForTheOther) {
  ::setenv("WEFT_OMP_STATS", "true", 1);
  in_parallel(2, [](Member& member) {
    if (member.num == 1) {
      // A tick may cut a sleep short.
      for (const uint64_t end = weft::rt::now_ns() + 50'000'000; weft::rt::now_ns() < end;) ::usleep(1000);
    }
    barrier(member);
  });
  const double all = seconds_told("time in regions"), waits = seconds_told("waits for each other");
  EXPECT_GE(all, 0.1);
  EXPECT_GT(waits, 0);  // as much as it has not come late itself
  EXPECT_LE(waits, all);
}

}  // namespace
