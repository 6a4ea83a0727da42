// barrier.cpp: a count of who has come, and a number of the barriers that are over.
//
// Whoever comes has seen all tasks end that descend from its implicit task. So when all have come no task of the team is left:
// those that wait run tasks of others, but such a task keeps the one whom it descends from away.
#include "barrier.hpp"

#include "task_end.hpp"
#include "wait.hpp"

namespace weft::omp {

bool barrier(Member& member, bool cancellable, ompt_sync_region_t kind) {
  Team& team = *member.team;
  if (cancellable && team.cancelled.load(std::memory_order_acquire)) return false;
  if (tool::there()) tool::work_ends(member);  // of a single of gcc's, of which nothing else tells the end
  const tool::Sync told(member, kind);
  if (!tasks_are_done(member.implicit)) {
    wait_until(member, Work::kAny, [&member] { return tasks_are_done(member.implicit); });
  }
  settle(member.implicit);
  const uint32_t phase = member.barriers++;
  member.thread->stats.add(Stat::kBarriers);
  if (team.n == 1) return !(cancellable && team.cancelled.load(std::memory_order_acquire));
  look_nearby(member);
  const auto num = static_cast<uint32_t>(member.num);
  if (gather(team.arrived, 0, team.groups, &Group::arrived, num, static_cast<uint32_t>(team.n))) {
    team.arrived.store(0, std::memory_order_relaxed);
    team.phase.store(phase + 1, std::memory_order_seq_cst);  // W2 of wait.hpp; release, pairs with the acquire below
    wake_all(team);
    return true;
  }
  wait_until(member, Work::kAny, [&] {
    return team.phase.load(std::memory_order_acquire) != phase ||
           (cancellable && team.cancelled.load(std::memory_order_acquire));
  }, First::kNearby);
  return team.phase.load(std::memory_order_acquire) != phase;
}

}  // namespace weft::omp
