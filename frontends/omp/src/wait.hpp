// wait.hpp: how a thread of a team waits: it runs tasks, looks again for a moment, then sleeps.
//
//   sleeper                              waker
//   S1 parked = 1; team.parked + 1       W1 makes it true what the sleeper waits for
//   S2 full fence                        W2 full fence
//   S3 looks once more                   W3 looks at team.parked, or at parked
//   S4 still false: suspends             W4 whoever changes parked from 1 to 0 resumes it
//
// Of S3 and W3 one sees the other's store. A sleeper that finds it true at S3 takes `parked` back by the same exchange as W4;
// if a waker was first, its resume is on the way, and is waited for: so each resume meets one suspension.
//
// Spurious wakes are allowed: whoever waits looks again.
#pragma once

#include "arch/pause.hpp"
#include "team.hpp"

namespace weft::omp {

// What may be run meanwhile.
enum class Work : uint8_t {
  kNone,         // nothing: it is no scheduling point
  kDescendants,  // of the current task
  kAny,          // the team's
  kIdle,         // the same for a thread that waits for the next region, if it takes part in this one
};

// Runs a task, if there is one that may run here. task.cpp.
bool run_one(Member& member, Work work);
// Whether run_one() might find one, in all places where one may be.
bool may_find_work(const Member& member, Work work);

// How long a thread looks before it sleeps: rounds of a pause instruction.
unsigned rounds_before_sleep(const Member& member);
unsigned rounds_of_team(int n, int active_level);
// Asked now and then by whoever looks: whether the worker of the caller has something else to do, so that it should not be kept
// from it.
bool worker_is_wanted();

class Parking {
 public:
  explicit Parking(Member& member);  // S1, S2
  void cancel();                     // S3 found it true
  void sleep();                      // S4
 private:
  Member& member_;
};

void wake_slow(Thread& thread);  // W4
// W2 is the caller's.
inline void wake(Thread& thread) {
  if (__builtin_expect(thread.parked.load(std::memory_order_seq_cst) != 0, 0)) wake_slow(thread);
}
// All of the team that sleep. W2 is the caller's.
void wake_all_slow(Team& team);
inline void wake_all(Team& team) {
  if (__builtin_expect(team.parked.load(std::memory_order_seq_cst) != 0, 0)) wake_all_slow(team);
}
// One of them, other than the caller.
void wake_one(Team& team, const Member& caller);

template <class Done>
void wait_until(Member& member, Work work, Done done) {
  unsigned rounds = 0;
  unsigned most = rounds_before_sleep(member);
  while (!done()) {
    if (work != Work::kNone && run_one(member, work)) {
      rounds = 0;
      continue;
    }
    if (++rounds < most) {
      rt::cpu_pause();
      if (rounds % 32 == 0 && worker_is_wanted()) most = 0;
      continue;
    }
    Parking parking(member);
    if (done() || (work != Work::kNone && may_find_work(member, work))) {
      parking.cancel();
    } else {
      parking.sleep();
    }
    rounds = 0;
    most = rounds_before_sleep(member);
  }
}

}  // namespace weft::omp
