// teams.cpp: a league on the host: its teams one after the other, each as an initial thread of its own.
#include <algorithm>

#include "export.hpp"
#include "region.hpp"
#include "team.hpp"

using namespace weft::omp;

namespace {

int to_int(unsigned number) { return static_cast<int>(std::min(number, 0x7fffffffu)); }

struct Call {
  void (*fn)(void*);
  void* data;
};

void run(void* arg) {
  const Call& call = *static_cast<Call*>(arg);
  if (tool::there()) {
    tool::call(this_member().implicit, [&call] { call.fn(call.data); });
  } else {
    call.fn(call.data);
  }
}

}  // namespace

WEFT_OMP_API void GOMP_teams_reg(void (*fn)(void*), void* data, unsigned teams, unsigned limit, unsigned) {
  const tool::Entry entry(WEFT_OMP_CALLER);
  if (teams == 0) teams = static_cast<unsigned>(device().num_teams.load(std::memory_order_relaxed));
  if (teams == 0) teams = 3;  // libgomp's number, which programs have been run with
  if (limit == 0) limit = static_cast<unsigned>(device().teams_thread_limit.load(std::memory_order_relaxed));
  Call call{fn, data};
  league(to_int(teams), to_int(limit), run, &call);
}
WEFT_OMP_GNU(GOMP_teams_reg, "GOMP_5.0")

// Teams in a target region, which has a league of one around it: the code calls this in a loop, `first` the first time, and
// runs a team after each true.
WEFT_OMP_API bool GOMP_teams4(unsigned low, unsigned, unsigned limit, bool first) {
  Member& member = this_member();
  Team& team = *member.team;
  if (!first) {
    if (team.league_num + 1 >= team.league_size) return false;
    ++team.league_num;
    return true;
  }
  if (limit != 0) own_icvs(member).thread_limit = to_int(limit);
  team.league_size = std::max(to_int(low), 1);
  team.league_num = 0;
  team.in_league = true;
  return true;
}
WEFT_OMP_GNU(GOMP_teams4, "GOMP_5.1")

// Of gcc before 12: one team, whatever is asked for.
WEFT_OMP_API void GOMP_teams(unsigned, unsigned limit) {
  if (limit != 0) own_icvs(this_member()).thread_limit = to_int(limit);
}
WEFT_OMP_GNU(GOMP_teams, "GOMP_4.0")
