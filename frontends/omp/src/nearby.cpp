#include "nearby.hpp"

#include <atomic>

#include "runtime.hpp"

namespace weft::omp {

namespace {

constexpr int kMostLooked = 256;  // members

std::atomic<uint16_t>& at(const Member& member, int num) { return member.team->at[static_cast<size_t>(num)]; }

}  // namespace

void find_nearby(Member& member) {
  const Team& team = *member.team;
  member.nearby_for = kNearbyFor;
  member.nearby = nullptr;
  const weft_worker_t worker = weft_worker_self();
  const auto here = static_cast<uint16_t>(worker != nullptr ? weft_worker_index(worker) + 1 : 0);
  // Release, pairs with the acquire below: Thread::unit.
  at(member, member.num).store(here, std::memory_order_release);
  if (here == 0) return;
  int other = member.num;
  for (int looked = 0; looked < kMostLooked && member.nearby == nullptr; ++looked) {
    other = other + 1 < team.n ? other + 1 : 0;
    if (other == member.num) return;
    if (at(member, other).load(std::memory_order_acquire) == here) member.nearby = team.members[other].thread->unit;
  }
}

int worker_to_wait_at(const Member& member) {
  const Team& team = *member.team;
  if (team.active_level < 2 || !workers_stay() || member.thread->kept != nullptr || team.opener->team->n < worker_count()) return -1;
  const uint16_t there = at(member, 0).load(std::memory_order_relaxed);
  return there == at(member, member.num).load(std::memory_order_relaxed) ? -1 : there - 1;
}

void wait_there(int worker) {
  // Where nothing else is to be done it stays, so that the worker has something.
  if (front::others_waiting() != 0) front::move_to(weft_worker_get(static_cast<unsigned>(worker)));
}

}  // namespace weft::omp
