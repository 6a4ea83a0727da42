// Dependences: what they order, however many there are.
#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <random>
#include <vector>

#include "omp/spawn.hpp"
#include "task_end.hpp"

namespace {

using namespace weft::omp;

class OmpDepend : public PreemptedTeams {};
INSTANTIATE_TEST_SUITE_P(Threads, OmpDepend, kTeams);

// Of one address: what its tasks of each kind see of the others'.
struct Cell {
  int generation = 0;  // the maker's: of the set that is being made
  DepKind kind = DepKind::kOut;
  int made = 0;        // of that set
  std::vector<std::unique_ptr<std::atomic<int>>> ended;  // by set
  std::vector<int> sizes;
  std::atomic<int> running{0};
  std::atomic<bool> excluded{false};
};

struct Part {
  Cell* cell;
  int set;
  DepKind kind;
};

// The next task with that dependence: it begins when all sets before its own have ended.
Part part_of(Cell& cell, DepKind kind) {
  const bool together = kind == cell.kind && kind != DepKind::kOut && cell.made != 0;
  if (!together) {
    cell.ended.push_back(std::make_unique<std::atomic<int>>(0));
    cell.sizes.push_back(0);
    cell.kind = kind;
  }
  cell.made = ++cell.sizes.back();
  return {&cell, static_cast<int>(cell.sizes.size()) - 1, kind};
}

// A random program of one parent's tasks. Each task looks whether the ones before have ended, and nobody runs whom it excludes.
void random_program(Member& member, unsigned seed, int tasks) {
  std::mt19937 random(seed);
  const auto below = [&random](unsigned n) { return random() % n; };
  constexpr unsigned kCells = 24;  // more than a table begins with
  std::vector<std::unique_ptr<Cell>> cells;
  for (unsigned i = 0; i < kCells; ++i) cells.push_back(std::make_unique<Cell>());
  constexpr DepKind kKinds[] = {DepKind::kIn, DepKind::kIn, DepKind::kOut, DepKind::kMutexInOutSet, DepKind::kInOutSet};
  std::vector<std::vector<int>> sizes_before;  // what a task has to see, by its parts
  std::atomic<int> ran{0};
  for (int i = 0; i < tasks; ++i) {
    std::vector<Depend> depends;
    std::vector<Part> parts;
    const unsigned first = below(kCells), count = below(20) == 0 ? 7 : 1 + below(2);
    for (unsigned k = 0; k < count; ++k) {
      Cell& cell = *cells[(first + k * 5) % kCells];
      const DepKind kind = kKinds[below(5)];
      depends.push_back({&cell, kind});
      parts.push_back(part_of(cell, kind));
    }
    // Of each cell, how many had been made in the set before its own: all of them have to have ended.
    std::vector<int> before;
    before.reserve(parts.size());
    for (const Part& part : parts) before.push_back(part.set == 0 ? 0 : part.cell->sizes[static_cast<size_t>(part.set) - 1]);
    // The maker adds sets meanwhile: what a task looks at it has been given.
    std::vector<std::atomic<int>*> ended_before, own;
    for (const Part& part : parts) {
      ended_before.push_back(part.set == 0 ? nullptr : part.cell->ended[static_cast<size_t>(part.set) - 1].get());
      own.push_back(part.cell->ended[static_cast<size_t>(part.set)].get());
    }
    const unsigned extra = below(12);
    spawn([parts, before, ended_before, own, extra, &ran] {
      for (size_t k = 0; k < parts.size(); ++k) {
        Cell& cell = *parts[k].cell;
        if (ended_before[k] != nullptr) {
          EXPECT_EQ(*ended_before[k], before[k]);
        }
        const int others = cell.running++;
        if (parts[k].kind == DepKind::kOut) {
          EXPECT_EQ(others, 0);
        }
        if (parts[k].kind == DepKind::kMutexInOutSet) {
          EXPECT_FALSE(cell.excluded.exchange(true));
        }
      }
      if (extra == 0) weft_yield();
      if (extra == 1) spawn([] { weft_yield(); });
      if (extra == 2) {
        int value = 0;
        for (int n = 0; n < 3; ++n) spawn([&value] { ++value; }, {{&value, DepKind::kOut}});
        task_wait(this_member());
        EXPECT_EQ(value, 3);
      }
      for (size_t k = 0; k < parts.size(); ++k) {
        Cell& cell = *parts[k].cell;
        if (parts[k].kind == DepKind::kMutexInOutSet) cell.excluded = false;
        --cell.running;
        ++*own[k];
      }
      ++ran;
    }, depends, below(16) == 0 ? task_flag::kUndeferred : uint16_t{0});
    if (below(40) == 0) {
      Cell& cell = *cells[below(kCells)];
      const Depend depend{&cell, DepKind::kIn};
      task_wait_depend(member, 1, &depend);
      if (cell.sizes.size() > 1) {
        EXPECT_EQ(*cell.ended[cell.sizes.size() - 2], cell.sizes[cell.sizes.size() - 2]);
      }
      if (cell.kind != DepKind::kIn && !cell.sizes.empty()) {
        EXPECT_EQ(*cell.ended.back(), cell.sizes.back());
      }
    }
    if (below(200) == 0) {
      task_wait(member);
      EXPECT_EQ(ran, i + 1);
    }
  }
  task_wait(member);
  EXPECT_EQ(ran, tasks);
}

TEST_P(OmpDepend, RandomPrograms) {
  for (unsigned seed = 0; seed < 20; ++seed) {
    SCOPED_TRACE(seed);
    in_single(GetParam(), [&](Member& member) { random_program(member, seed, 600); });
  }
}

TEST_P(OmpDepend, EachThreadHasItsOwn) {
  in_parallel(GetParam(), [&](Member& member) { random_program(member, 1000 + static_cast<unsigned>(member.num), 300); });
}

// Of those that only read most have ended long before somebody writes.
TEST_P(OmpDepend, ManyReadersBeforeAWriter) {
  in_single(GetParam(), [&](Member& member) {
    int value = 1;
    std::atomic<int> read{0};
    for (int i = 0; i < 20'000; ++i) {
      spawn([&] {
        EXPECT_EQ(value, 1);
        ++read;
      }, {{&value, DepKind::kIn}});
      if (i % 5000 == 4999) task_yield(member);
    }
    spawn([&] {
      EXPECT_EQ(read, 20'000);
      value = 2;
    }, {{&value, DepKind::kOut}});
    spawn([&] { EXPECT_EQ(value, 2); }, {{&value, DepKind::kIn}});
    task_wait(member);
  });
}

// All addresses of a large table, then some of all memory, then new ones.
TEST_P(OmpDepend, ManyAddresses) {
  in_single(GetParam(), [&](Member& member) {
    std::vector<int> values(3000);
    std::atomic<int> written{0};
    for (int round = 0; round < 3; ++round) {
      for (int& value : values) {
        spawn([&written, &value, round] {
          EXPECT_EQ(value, round);
          value = round + 1;
          ++written;
        }, {{&value, DepKind::kOut}});
      }
    }
    spawn([&] { EXPECT_EQ(written, 9000); }, {{nullptr, DepKind::kOut}});
    int fresh = 0;
    spawn([&] {
      EXPECT_EQ(written, 9000);
      fresh = 1;
    }, {{&fresh, DepKind::kOut}});
    spawn([&] {
      EXPECT_EQ(fresh, 1);
      values[0] = 0;
    }, {{&fresh, DepKind::kIn}, {&values[0], DepKind::kOut}});
    task_wait(member);
    EXPECT_EQ(values[0], 0);
  });
}

// A task with many before it, and many behind it.
TEST_P(OmpDepend, ManyEdges) {
  for (int round = 0; round < 20; ++round) {
    in_single(GetParam(), [&](Member& member) {
      std::vector<int> values(100);
      std::vector<Depend> all;
      for (int& value : values) {
        spawn([&value] { value = 1; }, {{&value, DepKind::kOut}});
        all.push_back({&value, DepKind::kIn});
      }
      int sum = 0;
      all.push_back({&sum, DepKind::kOut});
      spawn([&] {
        for (const int value : values) sum += value;
      }, all);
      std::atomic<int> seen{0};
      for (int i = 0; i < 100; ++i) {
        spawn([&] {
          EXPECT_EQ(sum, 100);
          ++seen;
        }, {{&sum, DepKind::kIn}});
      }
      task_wait(member);
      EXPECT_EQ(seen, 100);
    });
  }
}

// One behind the other: nobody has to be woken for the next.
TEST_P(OmpDepend, AChainIsLongerThanWhatOneTurnRuns) {
  in_single(GetParam(), [&](Member& member) {
    int value = 0;
    bool other = false;
    for (int i = 0; i < 3000; ++i) {
      spawn([&value, i] { EXPECT_EQ(value++, i); }, {{&value, DepKind::kOut}});
    }
    spawn([&other] { other = true; }, {{&other, DepKind::kOut}});
    const Depend depend{&other, DepKind::kIn};
    task_wait_depend(member, 1, &depend);
    EXPECT_TRUE(other);
    task_wait(member);
    EXPECT_EQ(value, 3000);
  });
}

// Whoever has made so many that none can run makes more.
TEST_P(OmpDepend, NobodyIsWaitedForToMakeMore) {
  in_single(GetParam(), [&](Member& member) {
    int value = 0;
    Task* detached = make(wish_for(task_flag::kDetachable), [] {});
    const Depend depend{&value, DepKind::kOut};
    task_start(member, detached, 1, &depend);
    for (int i = 0; i < 5000; ++i) {
      spawn([&value, i] { EXPECT_EQ(value++, i); }, {{&value, DepKind::kOut}});
    }
    EXPECT_EQ(value, 0);
    event_fulfill(detached);
    task_wait(member);
    EXPECT_EQ(value, 5000);
  });
}

// A group, a taskwait and a barrier wait for their own, while a thread that runs tasks of all of them tells of their ends together.
TEST_P(OmpDepend, EndsAreToldToWhomTheyBelong) {
  for (int round = 0; round < 100; ++round) {
    std::atomic<int> all{0};
    in_parallel(GetParam(), [&](Member& member) {
      std::atomic<int> outside{0}, inside{0}, below{0};
      for (int i = 0; i < 10; ++i) {
        spawn([&] {
          ++outside;
          ++all;
        });
      }
      TaskGroup group;
      group_begin(member, &group);
      for (int i = 0; i < 10; ++i) {
        spawn([&] {
          for (int k = 0; k < 3; ++k) {
            spawn([&] {
              ++below;
              ++all;
            });
          }
          ++inside;
          ++all;
        });
      }
      group_end(member);
      EXPECT_EQ(inside, 10);
      EXPECT_EQ(below, 30);
      task_wait(member);
      EXPECT_EQ(outside, 10);
    });
    EXPECT_EQ(all, 50 * GetParam());
  }
}

}  // namespace
