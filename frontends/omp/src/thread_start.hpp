// thread_start.hpp: how a place of a team gets its thread.
#pragma once

#include "team.hpp"
#include "wait.hpp"

namespace weft::omp {

// The place gets a thread, a ULT that calls main(&member). False, after one warning for the process: there is no memory, or
// there are too many. Of an outermost team as many threads as there are workers keep to one each, so that none of them has to
// share while others idle; all others are taken by whoever has time.
bool thread_start(Member& member, void (*main)(void* member), bool outermost);

// So many are about to be started: what they need is made at once then.
class ThreadsForeseen {
 public:
  explicit ThreadsForeseen(int n);
  void one_begins();  // from here on it counts itself
  ~ThreadsForeseen();
  ThreadsForeseen(const ThreadsForeseen&) = delete;
  ThreadsForeseen& operator=(const ThreadsForeseen&) = delete;

 private:
  unsigned left_;
};

// Whoever is told that a team is destroyed has nothing to do with it any more; the last one frees it.
void team_let_go(Team& team);

}  // namespace weft::omp
