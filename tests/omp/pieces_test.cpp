// A taskloop's pieces: each runs once, as a task, and whoever is free gets some.
#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <new>
#include <utility>
#include <vector>

#include "omp/spawn.hpp"
#include "pieces.hpp"
#include "queue.hpp"
#include "task_end.hpp"

namespace {

using namespace weft::omp;

using Piece = std::function<void(uint64_t)>;
struct Loop : Pieces {
  const Piece* body;

  static void prepare_piece(const Pieces& pieces, uint64_t number, Task* task) {
    *static_cast<Pair*>(payload(task)) = {&static_cast<const Loop&>(pieces), number};
  }
  static void run_piece(Task* task) {
    const Pair pair = *static_cast<Pair*>(payload(task));
    (*pair.loop->body)(pair.number);
  }
  struct Pair {
    const Loop* loop;
    uint64_t number;
  };
};

void begin_loop(Member& member, uint64_t count, const Piece& body, When when) {
  auto* loop = new (pieces_memory(sizeof(Loop))) Loop;
  loop->count = count;
  loop->bytes = sizeof(Loop::Pair);
  loop->prepare = Loop::prepare_piece;
  loop->run = Loop::run_piece;
  loop->body = &body;
  start_pieces(member, loop, when);
}

void run_loop(Member& member, uint64_t count, const Piece& body, When when = When::kWaited) {
  TaskGroup group;
  group_begin(member, &group);
  begin_loop(member, count, body, when);
  group_end(member);
}

class OmpPieces : public PreemptedTeams {};
INSTANTIATE_TEST_SUITE_P(Threads, OmpPieces, kTeams);

TEST_P(OmpPieces, EachRunsOnce) {
  for (const When when : {When::kNow, When::kDeferred, When::kWaited}) {
    for (const uint64_t count : {0, 1, 2, 3, 7, 64, 1000, 20'000}) {
      std::vector<std::atomic<int>> runs(count);
      in_single(GetParam(), [&](Member& member) { run_loop(member, count, [&](uint64_t i) { ++runs[i]; }, when); });
      for (auto& run : runs) ASSERT_EQ(run, 1);
    }
  }
}

TEST_P(OmpPieces, OfSeveralThreadsAtATimeAndInEachOther) {
  for (int round = 0; round < 10; ++round) {
    std::atomic<int> runs{0};
    in_parallel(GetParam(), [&](Member& member) {
      int own = 0;
      std::atomic<int> all{0};
      run_loop(member, 40, [&](uint64_t) {
        run_loop(this_member(), 50, [&](uint64_t) { ++all; });
        ++runs;
      });
      EXPECT_EQ(all, 2000);
      run_loop(member, 10, [&](uint64_t) { ++own; }, When::kNow);
      EXPECT_EQ(own, 10);
    });
    EXPECT_EQ(runs, 40 * GetParam());
  }
}

// Each is a task: it waits for its own children, and its group for those that it leaves behind.
TEST_P(OmpPieces, TheyHaveChildren) {
  for (int round = 0; round < 10; ++round) {
    in_single(GetParam(), [&](Member& member) {
      std::atomic<int> left{0};
      run_loop(member, 300, [&](uint64_t i) {
        int value = 0;
        spawn([&] { value = 1; }, {{&value, DepKind::kOut}});
        spawn([&] { value *= 2; }, {{&value, DepKind::kOut}});
        task_wait(this_member());
        EXPECT_EQ(value, 2);
        if (i % 3 == 0) {
          spawn([&] {
            weft_yield();
            ++left;
          });
        }
        if (i % 50 == 0) {
          TaskGroup group;
          group_begin(this_member(), &group);
          spawn([&] { value = 3; });
          group_end(this_member());
          EXPECT_EQ(value, 3);
        }
      });
      EXPECT_EQ(left, 100);
    });
  }
}

// A taskwait waits for all pieces, and for nothing that they leave behind; a group for all.
TEST_P(OmpPieces, ATaskwaitWaitsForThem) {
  for (int round = 0; round < 100; ++round) {
    in_parallel(GetParam(), [&](Member& member) {
      constexpr uint64_t kCount = 200;
      std::atomic<uint64_t> ran{0};
      std::vector<Task*> left(kCount / 10);
      const Piece body = [&](uint64_t i) {
        ++ran;
        if (i % 10 != 0) return;
        Task* detached = left[i / 10] = make(wish_for(task_flag::kDetachable), [] {});
        task_start(this_member(), detached);
      };
      TaskGroup group;
      group_begin(member, &group);
      begin_loop(member, kCount, body, When::kDeferred);
      task_wait(member);
      EXPECT_EQ(ran, kCount);
      for (Task* task : left) event_fulfill(task);
      group_end(member);
    });
  }
}

// The ICVs that one sets are its own.
TEST_P(OmpPieces, TheyShareNothing) {
  in_single(GetParam(), [&](Member& member) {
    run_loop(member, 200, [&](uint64_t i) {
      EXPECT_FALSE(icvs_of(this_member()).dynamic);
      if (i % 2 == 0) own_icvs(this_member()).dynamic = true;
    });
    EXPECT_FALSE(icvs_of(member).dynamic);
  });
}

// As many as threads, all at the same time: none is kept back in somebody's hands.
TEST_P(OmpPieces, EachThreadGetsOne) {
  const int n = GetParam();
  for (int round = 0; round < 30; ++round) {
    std::atomic<int> begun{0};
    in_single(n, [&](Member& member) {
      run_loop(member, static_cast<uint64_t>(n), [&](uint64_t) {
        ++begun;
        while (begun < n) weft_yield();
      });
    });
    EXPECT_EQ(begun, n);
  }
}

// Whatever is in one's hands, others find something in the queue, up to the last piece.
TEST_P(OmpPieces, SomethingIsLeftForOthers) {
  if (GetParam() == 1) GTEST_SKIP() << "there are no others";
  std::atomic<int> busy{0};
  std::atomic<bool> over{false};
  in_parallel(GetParam(), [&](Member& member) {
    if (member.num != 0) {
      ++busy;
      while (!over) weft_yield();  // it takes none
      return;
    }
    while (busy != GetParam() - 1) weft_yield();
    uint64_t ran = 0, alone = 0;
    constexpr uint64_t kCount = 20'000;
    run_loop(member, kCount, [&](uint64_t) {
      if (++ran != kCount && !queue_is_busy(this_member())) ++alone;
    });
    EXPECT_EQ(ran, kCount);
    EXPECT_EQ(alone, 0);
    over = true;
  });
}

TEST_P(OmpPieces, ACancelledGroupDropsThem) {
  const bool was = std::exchange(device().cancel, true);
  for (int round = 0; round < 10; ++round) {
    std::atomic<int> ran{0};
    in_single(GetParam(), [&](Member& member) {
      run_loop(member, 10'000, [&](uint64_t) {
        if (++ran == 100) cancel_group(this_member());
      });
    });
    EXPECT_GE(ran, 100);
    EXPECT_LT(ran, 10'000);
  }
  device().cancel = was;
}

}  // namespace
