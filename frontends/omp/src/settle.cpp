// settle.cpp: what a member does first in a region, where there are places.
#include "keep.hpp"
#include "places.hpp"
#include "team.hpp"

namespace weft::omp {

Placement placement_in(const Team& team, int num) {
  // The opener waits in this region, so its place stands still.
  const Placement parent{team.opener != nullptr ? team.opener->place : -1, team.icvs.place_first, team.icvs.place_count};
  return placement_of(team.bind, num, team.n, parent);
}

void settle_member(Member& member) {
  const Team& team = *member.team;
  const Placement mine = placement_in(team, member.num);
  member.place = mine.place;
  keep_at_place(member, mine.before);
  if (mine.first == team.icvs.place_first && mine.count == team.icvs.place_count) return;
  Icvs& icvs = own_icvs(member);
  icvs.place_first = mine.first;
  icvs.place_count = mine.count;
}

void settle_initial(Member& first) {
  Team& team = *first.team;
  if (device().places.empty()) return;
  const Placement parent{team.opener->place, team.icvs.place_first, team.icvs.place_count};
  const Bind bind = team.icvs.bind == Bind::kFalse ? Bind::kFalse : device().teams_bind;
  const Placement mine = placement_of(bind, team.league_num, team.league_size, parent);
  first.place = mine.place;
  team.icvs.place_first = mine.first;
  team.icvs.place_count = mine.count;
  keep_at_place(first, 0);
}

}  // namespace weft::omp
