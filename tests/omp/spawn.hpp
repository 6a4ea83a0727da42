// spawn.hpp: tasks of functions; and what tests of tasks run in: teams of several sizes, under ticks.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <new>
#include <utility>
#include <vector>

#include "barrier.hpp"
#include "omp/in_parallel.hpp"
#include "task.hpp"
#include "team.hpp"
#include "weft/preempt.h"
#include "workshare.hpp"

namespace weft::omp {

// The parameter: how many threads. INSTANTIATE_TEST_SUITE_P(Threads, X, kTeams).
class PreemptedTeams : public testing::TestWithParam<int> {
 protected:
  void SetUp() override {
    this_thread();
    weft_preemption_set_interval(100'000);
    weft_preemption_set_mode(WEFT_PREEMPTION_ON);
  }
  void TearDown() override { weft_preemption_set_mode(WEFT_PREEMPTION_AUTO); }
};
inline const auto kTeams = testing::Values(1, 2, 3, 8);

// Team of n whose one member does it, while the others wait in a barrier.
inline void in_single(int n, const MemberCode& body) {
  in_parallel(n, [&](Member& member) {
    if (single(member)) body(member);
    barrier(member);
  });
}

using Code = std::function<void()>;
inline TaskWish wish_for(uint16_t flags = 0) {
  TaskWish wish;
  wish.flags = flags;
  wish.run = [](Task* task) { (*static_cast<Code*>(payload(task)))(); };
  wish.drop = [](Task* task) { static_cast<Code*>(payload(task))->~Code(); };
  return wish;
}
inline Task* make(const TaskWish& wish, Code work) {
  Task* task = task_create(this_member(), wish, sizeof(Code));
  new (payload(task)) Code(std::move(work));
  return task;
}
inline void spawn(Code work, const std::vector<Depend>& depends = {}, uint16_t flags = 0) {
  Task* task = make(wish_for(flags), std::move(work));
  task_start(this_member(), task, depends.size(), depends.data());
}

}  // namespace weft::omp
