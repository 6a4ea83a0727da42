// settle.cpp: what a member does first in a region, where there are places.
#include "places.hpp"
#include "team.hpp"

namespace weft::omp {

void settle_member(Member& member) {
  const Team& team = *member.team;
  // The opener waits in this region, so its place stands still.
  const Placement parent{team.opener != nullptr ? team.opener->place : -1, team.icvs.place_first, team.icvs.place_count};
  const Placement mine = placement_of(team.bind, member.num, team.n, parent);
  member.place = mine.place;
  if (mine.first == parent.first && mine.count == parent.count) return;
  Icvs& icvs = own_icvs(member);
  icvs.place_first = mine.first;
  icvs.place_count = mine.count;
}

}  // namespace weft::omp
