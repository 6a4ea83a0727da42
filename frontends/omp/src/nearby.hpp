// nearby.hpp: of a team that has more threads than workers, or is inside of another one, who waits lets a thread of the same team go
// first, the next one at its worker.
//
// In the order in which they wait for the worker, all threads of all teams would be switched to, most of them for nothing: in
// regions of 8 in regions of 8 twice as often as there is something to do. By numbers a region goes once round the team: from who has
// opened it to the next one, and from the last one back.
// Each member writes down at which worker it is, and looks now and then who is there as well; in between it goes by what it has found.
// Whoever has been moved since is not among those that wait for this worker, which is told at once, and looked for anew.
// One switch of 64 is the scheduler's, which lets another unit go first: so nobody is kept from the worker.
//
// Rejected: looking each time (5 ns of 50); whoever waits as a list of the team's, besides the worker's (two orders that have to
// agree); sleeping until there is something to do (to be put to sleep and woken costs more than two switches).
#pragma once

#include <cstdint>

#include "front/front.hpp"
#include "team.hpp"

namespace weft::omp {

inline constexpr unsigned kNearbyFor = 63;  // waits
// A power of two, less one: coming back costs as much as some regions.
inline constexpr uint32_t kRegionsToComeBack = 63;

// Context, of both: the member's thread, in the region.
void find_nearby(Member& member);
inline void look_nearby(Member& member) {
  // Only such teams: wait.hpp.
  if (member.team->rounds.load(std::memory_order_relaxed) != 0) return;
  if (__builtin_expect(member.nearby_for-- == 0, 0)) find_nearby(member);
}

// False: nobody is there.
inline bool go_nearby(Member& member) {
  if (front::yield_nearby(member.nearby)) return true;
  member.nearby_for = 0;
  return false;
}

// Of a team inside of another one, whose members are enough for all workers, the threads wait for regions at the worker of who opens
// them: stolen ones come back. -1: there is no need, else a worker's number. Context: as above; not the opener.
int worker_to_wait_at(const Member& member);
inline int where_to_wait(const Member& member) {
  const bool looks = ((member.number + static_cast<uint32_t>(member.num)) & kRegionsToComeBack) == 0;
  return __builtin_expect(looks, 0) ? worker_to_wait_at(member) : -1;
}
// Context: the thread waits for a region.
void wait_there(int worker);

}  // namespace weft::omp
