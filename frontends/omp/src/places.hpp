// places.hpp: which place each thread of a team gets (OpenMP 5.2, section 10.1.3). Numbers only; whoever opens a region binds.
#pragma once

#include "icv.hpp"

namespace weft::omp {

struct Placement {
  int place;  // -1: not bound
  // its place-partition-var
  int first;
  int count;
  int before = 0;  // threads of the team with lower numbers that have the same place
};

// Thread `num` of `n`, under the parent's partition and place (-1: it is at the partition's first one). kTrue is as kClose.
Placement placement_of(Bind bind, int num, int n, const Placement& parent);

struct Member;
struct Team;
// Of member `num`, as the team's `bind` says. Context: the opener, or a member in the region.
Placement placement_in(const Team& team, int num);
// The member's place and its partition, as its team's `bind` says, to which its thread goes.
// Context: the member, in its implicit task, before the region's body.
void settle_member(Member& member);
// The same of an initial thread, among those of its league. Context: before its implicit task begins.
void settle_initial(Member& first);

}  // namespace weft::omp
