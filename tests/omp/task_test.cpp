// Tasks: who waits for whom.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

#include "barrier.hpp"
#include "omp/spawn.hpp"
#include "region.hpp"
#include "sanitizer_switch.hpp"
#include "task_call.hpp"
#include "task_end.hpp"

namespace {

using namespace weft::omp;

int fib(int n) {
  if (n < 2) return n;
  int x = 0, y = 0;
  spawn([&x, n] { x = fib(n - 1); });
  spawn([&y, n] { y = fib(n - 2); });
  task_wait(this_member());
  return x + y;
}

class OmpTask : public PreemptedTeams {};
INSTANTIATE_TEST_SUITE_P(Threads, OmpTask, kTeams);

TEST_P(OmpTask, Fib) {
  for (int round = 0; round < 5; ++round) {
    int result = 0;
    in_single(GetParam(), [&](Member&) { result = fib(18); });
    EXPECT_EQ(result, 2584);
  }
}

// Others take tasks while the queue becomes larger: each runs once.
TEST(OmpTaskQueue, GrowsWhileOthersTakeFromIt) {
  constexpr int kThreads = 8, kTasks = 700;  // more than 512
  for (int round = 0; round < 20; ++round) {
    std::vector<std::atomic<int>> runs(kTasks);
    uint32_t size = 0;
    in_single(kThreads, [&](Member& member) {
      for (int i = 0; i < kTasks; ++i) spawn([&runs, i] { runs[static_cast<size_t>(i)]++; });
      size = member.queue.size;
      task_wait(member);
    });
    for (const std::atomic<int>& one : runs) EXPECT_EQ(one, 1);
    EXPECT_TRUE(size == Queue::kFirstSize || size == 64 * kThreads);
  }
}

// Its thread spins, and everybody else may be asleep.
TEST_P(OmpTask, WhoWaitsForATaskRunsWhatComesOfIt) {
  if (GetParam() == 1) GTEST_SKIP() << "nobody takes it";
  if (weft::rt::san::kSignalsComeLate) GTEST_SKIP() << "ThreadSanitizer delivers no signal to code that calls nothing";
  for (int round = 0; round < 50; ++round) {
    in_single(GetParam(), [](Member& member) {
      std::atomic<int> begun{0}, ended{0};
      const auto spin_until = [](const std::atomic<int>& what, int value) {
        while (what != value) std::this_thread::yield();
      };
      spawn([&] {
        begun++;
        for (int i = 1; i <= 5; ++i) {
          spawn([&] { ended++; });
          spin_until(ended, i);
        }
      });
      spin_until(begun, 1);
      task_wait(member);
      EXPECT_EQ(ended, 5);
    });
  }
}

// Of several that sleep in taskwait the one is woken who may run it.
TEST(OmpTaskWait, WhoSleepsIsWokenForWhatComesOfHisTask) {
  if (weft::rt::san::kSignalsComeLate) GTEST_SKIP() << "ThreadSanitizer delivers no signal to code that calls nothing";
  constexpr int kWaiting = 3;  // members, each with another one that runs its task
  for (int round = 0; round < 10; ++round) {
    std::atomic<int> begun{0}, ended{0};
    std::atomic<bool> stop{false};
    in_parallel(2 * kWaiting, [&](Member& member) {
      if (member.num < kWaiting) {
        const bool helped = member.num == round % kWaiting;
        spawn([&, helped] {
          begun++;
          for (int i = 1; helped && i <= 5; ++i) {
            std::this_thread::sleep_for(std::chrono::milliseconds(1));  // the others sleep by then
            spawn([&] { ended++; });
            while (ended != i) std::this_thread::yield();
          }
          if (helped) stop = true;
          while (!stop) std::this_thread::yield();
        });
        while (begun != kWaiting) std::this_thread::yield();
        task_wait(member);
        if (helped) {
          EXPECT_EQ(ended, 5);
        }
      }
      barrier(member);
    });
  }
}

TEST_P(OmpTask, ABarrierWaitsForAllThatDescend) {
  for (int round = 0; round < 50; ++round) {
    std::atomic<int> ended{0};
    in_parallel(GetParam(), [&](Member& member) {
      for (int i = 0; i < 20; ++i) {
        spawn([&] {
          spawn([&] {
            spawn([&] { ended++; });
            ended++;
          });
          ended++;
        });
      }
      barrier(member);
      EXPECT_EQ(ended, 60 * GetParam());
      barrier(member);
    });
  }
}

TEST_P(OmpTask, ARegionsEndWaitsForThemToo) {
  for (int round = 0; round < 50; ++round) {
    std::atomic<int> ended{0};
    in_parallel(GetParam(), [&](Member&) {
      for (int i = 0; i < 10; ++i) spawn([&] { spawn([&] { ended++; }); });
    });
    EXPECT_EQ(ended, 10 * GetParam());
  }
}

TEST_P(OmpTask, AGroupWaitsForDescendantsATaskwaitForChildren) {
  in_single(GetParam(), [&](Member& member) {
    std::atomic<int> ended{0};
    TaskGroup group;
    group_begin(member, &group);
    for (int i = 0; i < 30; ++i) spawn([&] { spawn([&] { ended++; }); });
    EXPECT_EQ(group_end(member), &group);
    EXPECT_EQ(ended, 30);
  });
}

TEST_P(OmpTask, MoreThanAQueueHolds) {
  std::atomic<int> ended{0};
  in_single(GetParam(), [&](Member&) {
    for (int i = 0; i < 5000; ++i) spawn([&] { ended++; });
  });
  EXPECT_EQ(ended, 5000);
}

// All run at the same time, while their maker does not: each needs a thread, and all but one of those may sleep.
TEST_P(OmpTask, AsManyThreadsWakeUpAsThereAreTasks) {
  const int tasks = GetParam() - 1;
  for (int round = 0; round < 20; ++round) {
    std::atomic<int> begun{0};
    in_single(GetParam(), [&](Member&) {
      for (int i = 0; i < tasks; ++i) {
        spawn([&] {
          ++begun;
          while (begun < tasks) weft_yield();
        });
      }
      while (begun < tasks) weft_yield();
    });
    EXPECT_EQ(begun, tasks);
  }
}

// Whoever sleeps in a taskwait is woken for what descends from it, though another thread makes that.
TEST_P(OmpTask, ASleeperInATaskwaitHelpsItsDescendants) {
  if (GetParam() == 1) return;  // it takes two
  for (int round = 0; round < 20; ++round) {
    std::atomic<bool> begun{false};
    std::atomic<int> ran{0};
    in_parallel(2, [&](Member& member) {
      if (member.num == 0) {
        spawn([&] {
          begun = true;
          while (member.thread->parked == 0) weft_yield();
          spawn([&] { ++ran; });
          while (ran == 0) weft_yield();
        });
        while (!begun) weft_yield();
        task_wait(member);
      }
      barrier(member);
    });
    EXPECT_EQ(ran, 1);
  }
}

// Others wait for what a thread has to do in a region: so it has no time for their tasks before that.
TEST_P(OmpTask, NobodyHelpsBeforeItsOwnPart) {
  const auto n = static_cast<size_t>(GetParam());
  std::atomic<int> early{0};
  for (int round = 0; round < 3000; ++round) {
    std::vector<std::atomic<bool>> begun(n);
    in_parallel(GetParam(), [&](Member& member) {
      begun[static_cast<size_t>(member.num)] = true;
      if (member.num != 0) return;
      for (int i = 0; i < 10; ++i) {
        spawn([&] {
          if (!begun[static_cast<size_t>(this_member().num)]) ++early;
        });
      }
    });
  }
  EXPECT_EQ(early, 0);
}

// A task that is called leaves tasks behind, which a group and a barrier wait for, and a taskwait does not.
struct Calls {
  std::atomic<int> ended{0};
  int depth = 0;
  static void run(void* arg) {
    auto& self = *static_cast<Calls*>(arg);
    spawn([&self, depth = self.depth] {
      for (int i = 0; i < depth; ++i) weft_yield();
      ++self.ended;
    });
    if (--self.depth > 0) {
      task_call(this_member(), 0, &Calls::run, arg);
      task_call(this_member(), 0, &Calls::run_childless, arg);
    }
    ++self.ended;
  }
  static void run_childless(void* arg) { ++static_cast<Calls*>(arg)->ended; }
};

TEST_P(OmpTask, WhatACalledOneLeavesBehindIsWaitedFor) {
  constexpr int kDepth = 20;
  for (int round = 0; round < 50; ++round) {
    Calls grouped{.depth = kDepth}, left{.depth = kDepth};
    in_single(GetParam(), [&](Member& member) {
      TaskGroup group;
      group_begin(member, &group);
      task_call(this_member(), 0, &Calls::run, &grouped);
      group_end(member);
      EXPECT_EQ(grouped.ended, 3 * kDepth - 1);
      task_call(this_member(), 0, &Calls::run, &left);
      task_wait(member);
    });
    EXPECT_EQ(left.ended, 3 * kDepth - 1);
  }
}

// What a task that is a call has been, as seen in it.
struct CalledAs {
  const Task* task;
  int flags;
  const TaskGroup* group;
  const Icvs* icvs;
};

template <class F>
CalledAs call_task(uint16_t flags, F code) {
  struct Call {
    F code;
    CalledAs as;
  } call{code, {}};
  task_call(this_member(), flags, [](void* arg) {
    auto& self = *static_cast<Call*>(arg);
    const Task* task = this_member().task;
    self.as = {task, task->flags, task->group, task->icvs};
    self.code();
  }, &call);
  return call.as;
}

TEST_P(OmpTask, ACallHasNothingOfTheLastOne) {
  in_single(GetParam(), [&](Member& member) {
    const Task* maker = member.task;
    const auto nothing = [] {};
    const CalledAs first = call_task(task_flag::kFinal, nothing);
    EXPECT_NE(first.flags & task_flag::kFinal, 0);
    const CalledAs second = call_task(task_flag::kUntied, [] { own_icvs(this_member()).dynamic = true; });
    EXPECT_EQ(second.task, first.task);
    EXPECT_EQ(second.flags & (task_flag::kFinal | task_flag::kUntied), task_flag::kUntied);
    const CalledAs third = call_task(0, nothing);
    EXPECT_EQ(third.icvs, maker->icvs);
    TaskGroup group;
    group_begin(member, &group);
    EXPECT_EQ(call_task(0, nothing).group, &group);
    group_end(member);
    EXPECT_EQ(call_task(0, nothing).group, maker->group);
    // Children that have been waited for, and some that have not: they are waited for with the caller's.
    std::atomic<int> ended{0};
    call_task(0, [&] {
      for (int i = 0; i < 10; ++i) spawn([&] { ++ended; });
      task_wait(this_member());
      EXPECT_EQ(ended, 10);
    });
    EXPECT_EQ(call_task(0, nothing).flags, third.flags);
    group_begin(member, &group);
    for (int i = 0; i < 10; ++i) {
      call_task(0, [&] { spawn([&] { ++ended; }); });
    }
    group_end(member);
    EXPECT_EQ(ended, 20);
    EXPECT_EQ(member.task, maker);
  });
}

TEST_P(OmpTask, DependencesOrder) {
  for (int round = 0; round < 20; ++round) {
    in_single(GetParam(), [&](Member& member) {
      int value = 0;
      std::atomic<int> readers{0};
      for (int i = 0; i < 10; ++i) {
        spawn([&, i] {
          EXPECT_EQ(readers, 3 * i);
          value = i;
        }, {{&value, DepKind::kOut}});
        for (int k = 0; k < 3; ++k) {
          spawn([&, i] {
            EXPECT_EQ(value, i);
            readers++;
          }, {{&value, DepKind::kIn}});
        }
      }
      task_wait(member);
      EXPECT_EQ(readers, 30);
    });
  }
}

TEST_P(OmpTask, SetsAndAllMemory) {
  in_single(GetParam(), [&](Member& member) {
    int a = 0, b = 0;
    std::atomic<int> in_set{0};
    int excluded = 0;
    for (int i = 0; i < 8; ++i) spawn([&] { in_set++; }, {{&a, DepKind::kInOutSet}});
    spawn([&] { EXPECT_EQ(in_set, 8); }, {{&a, DepKind::kIn}});
    for (int i = 0; i < 50; ++i) spawn([&] { excluded++; }, {{&b, DepKind::kMutexInOutSet}});
    spawn([&] {
      EXPECT_EQ(excluded, 50);
      EXPECT_EQ(in_set, 8);
      a = 5;
    }, {{nullptr, DepKind::kOut}});
    spawn([&] { EXPECT_EQ(a, 5); }, {{&member, DepKind::kIn}});
    task_wait(member);
  });
}

// Of one set, of two, of all three, deferred or not; behind and before others.
TEST_P(OmpTask, MutexSetsExclude) {
  for (int round = 0; round < 30; ++round) {
    in_single(GetParam(), [&](Member& member) {
      int counts[3] = {}, written = 0;
      std::atomic<bool> inside[3] = {};
      std::atomic<int> runs{0};
      const auto enter = [&](unsigned which) {
        for (unsigned k = 0; k < 3; ++k) {
          if ((which >> k & 1) == 0) continue;
          EXPECT_FALSE(inside[k].exchange(true));
          ++counts[k];
        }
        EXPECT_EQ(written, 1);
        if (runs++ % 3 == 0) weft_yield();
        for (unsigned k = 0; k < 3; ++k) {
          if ((which >> k & 1) != 0) inside[k] = false;
        }
      };
      spawn([&] { written = 1; }, {{&counts[0], DepKind::kOut}, {&counts[1], DepKind::kOut}, {&counts[2], DepKind::kOut}});
      int wanted[3] = {};
      for (unsigned i = 0; i < 70; ++i) {
        const unsigned which = i % 7 + 1;
        std::vector<Depend> depends;
        for (unsigned k = 0; k < 3; ++k) {
          if ((which >> k & 1) == 0) continue;
          depends.push_back({&counts[k], DepKind::kMutexInOutSet});
          ++wanted[k];
        }
        spawn([&enter, which] { enter(which); }, depends, i % 11 == 10 ? task_flag::kUndeferred : uint16_t{0});
      }
      spawn([&] {
        for (int k = 0; k < 3; ++k) EXPECT_EQ(counts[k], wanted[k]);
      }, {{&counts[0], DepKind::kIn}, {&counts[1], DepKind::kIn}, {&counts[2], DepKind::kIn}});
      const Depend depend{&counts[0], DepKind::kMutexInOutSet};
      task_wait_depend(member, 1, &depend);
      EXPECT_EQ(counts[0], wanted[0]);
      task_wait(member);
      EXPECT_EQ(runs, 70);
    });
  }
}

// One that still waits for something else keeps no later one from running.
TEST_P(OmpTask, MutexSetsHaveNoOrder) {
  if (GetParam() == 1) GTEST_SKIP() << "a task that waits for a later one, in its thread";
  for (int round = 0; round < 20; ++round) {
    in_single(GetParam(), [&](Member& member) {
      int slow = 0, set = 0;
      std::atomic<bool> later_has_run{false};
      spawn([&] {
        while (!later_has_run) weft_yield();
        slow = 1;
      }, {{&slow, DepKind::kOut}});
      spawn([&] { EXPECT_EQ(slow, 1); }, {{&slow, DepKind::kIn}, {&set, DepKind::kMutexInOutSet}});
      spawn([&] { later_has_run = true; }, {{&set, DepKind::kMutexInOutSet}});
      task_wait(member);
    });
  }
}

TEST_P(OmpTask, TaskwaitWithDependences) {
  in_single(GetParam(), [&](Member& member) {
    for (int round = 0; round < 50; ++round) {
      int a = 0;
      std::atomic<int> b{0};
      spawn([&] { a = 1; }, {{&a, DepKind::kOut}});
      spawn([&] { b = 1; }, {{&b, DepKind::kOut}});
      const Depend depend{&a, DepKind::kIn};
      task_wait_depend(member, 1, &depend);
      EXPECT_EQ(a, 1);
      task_wait_depend(member, 1, &depend, true);
      task_wait(member);
      EXPECT_EQ(b, 1);
    }
  });
}

TEST_P(OmpTask, UndeferredOnesWaitForTheirDependences) {
  in_single(GetParam(), [&](Member& member) {
    for (int round = 0; round < 50; ++round) {
      int a = 0;
      spawn([&] { a = 1; }, {{&a, DepKind::kOut}});
      bool ran = false;
      spawn([&] {
        EXPECT_EQ(a, 1);
        ran = true;
      }, {{&a, DepKind::kIn}}, task_flag::kUndeferred);
      EXPECT_TRUE(ran);
    }
    task_wait(member);
  });
}

TEST_P(OmpTask, ChildrenOfAFinalTaskAreIncluded) {
  in_single(GetParam(), [&](Member& member) {
    spawn([] {
      EXPECT_TRUE(tasks_are_included(this_member()));
      bool ran = false;
      spawn([&] { ran = true; });
      EXPECT_TRUE(ran);
    }, {}, task_flag::kFinal);
    task_wait(member);
  });
}

TEST_P(OmpTask, ADetachedOneEndsWithItsEvent) {
  for (int round = 0; round < 30; ++round) {
    std::atomic<bool> fulfilled{false};
    std::thread other;
    in_single(GetParam(), [&](Member& member) {
      int a = 0;
      Task* task = make(wish_for(task_flag::kDetachable), [&a] { a = 1; });
      const Depend out{&a, DepKind::kOut};
      other = std::thread([&fulfilled, task] {
        fulfilled = true;
        event_fulfill(task);
      });
      task_start(member, task, 1, &out);
      spawn([&] { EXPECT_TRUE(fulfilled); }, {{&a, DepKind::kIn}});
      task_wait(member);
      EXPECT_TRUE(fulfilled);
    });
    other.join();
  }
}

TEST_P(OmpTask, AnUndeferredDetachedOneIsWaitedForWithItsEvent) {
  in_single(GetParam(), [&](Member& member) {
    std::atomic<bool> fulfilled{false};
    Task* task = make(wish_for(task_flag::kDetachable), [] {});
    task_begin(member, task);
    std::thread other([&fulfilled, task] {
      std::this_thread::yield();
      fulfilled = true;
      event_fulfill(task);
    });
    task_end(member, task);
    EXPECT_TRUE(fulfilled);
    other.join();
  });
}

TEST_P(OmpTask, OneRunsAgainAsOftenAsItSays) {
  in_single(GetParam(), [&](Member& member) {
    int parts = 0;
    Task* task = nullptr;
    task = make(wish_for(task_flag::kUntied), [&] {
      if (++parts < 5) task_again(this_member(), task);
    });
    task_start(member, task);
    task_wait(member);
    EXPECT_EQ(parts, 5);
  });
}

// Between its parts it may run what descends from it. It looks for nothing in the queues of others, where nothing does: what they hold
// it would put aside, piece by piece.
TEST_P(OmpTask, OneThatRunsAgainLeavesOthersAlone) {
  if (GetParam() != 2) return;
  std::atomic<bool> spawned{false}, again{false};
  std::atomic<int> ended{0};
  in_parallel(2, [&](Member& member) {
    if (member.num == 1) {
      for (int i = 0; i < 500; ++i) spawn([&] { ++ended; });
      spawned = true;
      while (!again) weft_yield();
      EXPECT_EQ(member.queue.inbox_count, 0u);
    } else {
      while (!spawned) weft_yield();
      int parts = 0;
      Task* task = nullptr;
      task = make(wish_for(task_flag::kUntied | task_flag::kUndeferred), [&] {
        if (++parts < 400) task_again(this_member(), task);
      });
      task_start(member, task);
      again = true;
    }
    barrier(member);
  });
  EXPECT_EQ(ended, 500);
}

TEST_P(OmpTask, ACancelledGroupDropsWhatHasNotBegun) {
  device().cancel = true;
  for (int round = 0; round < 20; ++round) {
    in_single(GetParam(), [&](Member& member) {
      TaskGroup group;
      group_begin(member, &group);
      std::atomic<int> ran{0};
      for (int i = 0; i < 100; ++i) {
        spawn([&] {
          if (ran++ == 0) cancel_group(this_member());
        });
      }
      group_end(member);
      EXPECT_GE(ran, 1);
    });
  }
  device().cancel = false;
}

TEST_P(OmpTask, ATaskRunsUnderAMemberAndStays) {
  in_single(GetParam(), [&](Member& member) {
    for (int i = 0; i < 100; ++i) {
      spawn([] {
        Thread* thread = &this_thread();
        const int num = this_member().num;
        for (int k = 0; k < 3; ++k) spawn([] {});
        task_yield(this_member());
        task_wait(this_member());
        EXPECT_EQ(&this_thread(), thread);
        EXPECT_EQ(this_member().num, num);
      });
    }
    task_wait(member);
  });
}

TEST_P(OmpTask, RegionsInTasks) {
  own_icvs(this_member()).max_active_levels = 3;
  std::atomic<int> runs{0};
  in_single(GetParam(), [&](Member& member) {
    for (int i = 0; i < 20; ++i) {
      spawn([&] {
        in_parallel(3, [&](Member&) {
          spawn([&] { runs++; });
        });
      });
    }
    task_wait(member);
  });
  EXPECT_EQ(runs, 60);
}

}  // namespace
