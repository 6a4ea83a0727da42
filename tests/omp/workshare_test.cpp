// Loops: that each iteration is done once, whatever the schedule, and what is ordered in order.
#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <vector>

#include "barrier.hpp"
#include "omp/in_parallel.hpp"
#include "region.hpp"
#include "workshare.hpp"

namespace {

using namespace weft::omp;

struct Case {
  Deal deal;
  uint64_t chunk;
};
const Case kCases[] = {{Deal::kStatic, 0}, {Deal::kStatic, 1}, {Deal::kStatic, 7}, {Deal::kDynamic, 1},
                       {Deal::kDynamic, 5}, {Deal::kGuided, 1}, {Deal::kGuided, 4}};

TEST(OmpLoop, EachIterationOnce) {
  for (const Case& c : kCases) {
    for (const uint64_t trip : {0u, 1u, 2u, 3u, 10u, 97u}) {
      for (const int n : {1, 2, 5}) {
        std::vector<std::atomic<int>> done(trip);
        in_parallel(n, [&](Member& member) {
          LoopSpec spec;
          spec.trip = trip;
          spec.deal = c.deal;
          spec.chunk = c.chunk;
          loop_begin(member, spec);
          uint64_t first = 0, last = 0;
          while (loop_next(member, &first, &last)) {
            for (; first != last; ++first) done[first]++;
          }
          loop_end(member);
        });
        for (const auto& d : done) EXPECT_EQ(d, 1);
      }
    }
  }
}

TEST(OmpLoop, AThreadAloneHasAllInOnePieceButSectionsOneByOne) {
  for (const Case& c : kCases) {
    for (const bool sections : {false, true}) {
      if (sections && (c.deal != Deal::kDynamic || c.chunk != 1)) continue;
      int pieces = 0;
      in_parallel(1, [&](Member& member) {
        loop_begin(member, {.trip = 20, .chunk = c.chunk, .deal = c.deal, .sections = sections});
        uint64_t first = 0, last = 0;
        while (loop_next(member, &first, &last)) ++pieces;
        loop_end(member);
      });
      EXPECT_EQ(pieces, sections ? 20 : 1);
    }
  }
}

TEST(OmpLoop, HugeOnesDoNotWrapAround) {
  for (const Deal deal : {Deal::kDynamic, Deal::kGuided, Deal::kStatic}) {
    std::atomic<uint64_t> sum{0};
    in_parallel(3, [&](Member& member) {
      LoopSpec spec;
      spec.trip = UINT64_MAX;
      spec.chunk = UINT64_MAX / 5;
      spec.deal = deal;
      loop_begin(member, spec);
      uint64_t first = 0, last = 0;
      while (loop_next(member, &first, &last)) {
        EXPECT_LT(first, last);
        sum += last - first;
      }
      loop_end(member);
    });
    EXPECT_EQ(sum, UINT64_MAX);
  }
}

TEST(OmpLoop, MembersMayRunAheadThroughMany) {
  std::atomic<int> done{0};
  in_parallel(4, [&](Member& member) {
    for (int i = 0; i < 500; ++i) {
      LoopSpec spec;
      spec.trip = static_cast<uint64_t>(i % 7);
      loop_begin(member, spec);
      uint64_t first = 0, last = 0;
      while (loop_next(member, &first, &last)) done += static_cast<int>(last - first);
      loop_end(member);
    }
  });
  int expected = 0;
  for (int i = 0; i < 500; ++i) expected += i % 7;
  EXPECT_EQ(done, expected);
}

void check_order(int threads) {
  for (const Case& c : kCases) {
    std::vector<uint64_t> order;
    in_parallel(threads, [&](Member& member) {
      LoopSpec spec;
      spec.trip = 200;
      spec.deal = c.deal;
      spec.chunk = c.chunk;
      spec.ordered = true;
      loop_begin(member, spec);
      uint64_t first = 0, last = 0;
      while (loop_next(member, &first, &last)) {
        for (; first != last; ++first) {
          if (first % 3 == 0) continue;
          ordered_begin(member);
          order.push_back(first);
        }
      }
      loop_end(member);
    });
    size_t at = 0;
    for (uint64_t i = 0; i < 200; ++i) {
      if (i % 3 == 0) continue;
      ASSERT_LT(at, order.size());
      EXPECT_EQ(order[at++], i);
    }
    EXPECT_EQ(at, order.size());
  }
}

TEST(OmpLoop, WhatIsOrderedIsInOrder) {
  check_order(4);
  check_order(1);
}

TEST(OmpLoop, DoacrossWaitsForWhatIsNamed) {
  constexpr int kRows = 40, kColumns = 25;
  static std::atomic<int> done[kRows][kColumns];
  for (auto& row : done) {
    for (auto& d : row) d = 0;
  }
  in_parallel(4, [&](Member& member) {
    const uint64_t counts[] = {kRows, kColumns};
    LoopSpec spec;
    spec.trip = kRows;
    spec.dims = 2;
    spec.counts = counts;
    loop_begin(member, spec);
    uint64_t first = 0, last = 0;
    while (loop_next(member, &first, &last)) {
      for (auto i = static_cast<int64_t>(first); i < static_cast<int64_t>(last); ++i) {
        for (int64_t k = 0; k < kColumns; ++k) {
          const int64_t above[] = {i - 1, k};
          doacross_wait(member, above);
          if (i > 0) {
            EXPECT_EQ(done[i - 1][k], 1);
          }
          done[i][k] = 1;
          const int64_t here[] = {i, k};
          doacross_post(member, here);
        }
      }
    }
    loop_end(member);
  });
}

TEST(OmpLoop, WhatTheTeamSharesIsZeroedAndOne) {
  std::atomic<void*> seen{nullptr};
  in_parallel(3, [&](Member& member) {
    LoopSpec spec;
    spec.trip = 3;
    spec.memory = 1000;
    loop_begin(member, spec);
    void* memory = member.share->memory;
    void* expected = nullptr;
    if (!seen.compare_exchange_strong(expected, memory)) {
      EXPECT_EQ(expected, memory);
    }
    for (int i = 0; i < 1000; ++i) EXPECT_EQ(static_cast<char*>(memory)[i], 0);
    loop_end(member);
  });
}

TEST(OmpCancel, ARegionThatIsCancelledEndsAndTheNextOneIsWhole) {
  device().cancel = true;
  for (int round = 0; round < 100; ++round) {
    std::atomic<int> after{0};
    in_parallel(4, [&](Member& member) {
      LoopSpec spec;
      spec.trip = 10;
      loop_begin(member, spec);
      uint64_t first = 0, last = 0;
      while (loop_next(member, &first, &last)) {
        if (first == 5) cancel_region(member);
      }
      loop_end(member);
      if (barrier(member, true)) after++;
    });
    EXPECT_EQ(after, 0);
    std::atomic<int> runs{0};
    in_parallel(4, [&](Member& member) {
      EXPECT_TRUE(barrier(member, true));
      runs++;
    });
    EXPECT_EQ(runs, 4);
  }
  device().cancel = false;
}

}  // namespace
