#include "part.hpp"

#include <algorithm>

#include "front/front.hpp"
#include "team.hpp"

namespace weft::omp {

bool part_changes(Team& team, int n) noexcept {
  if (team.part.any()) {
    team.in_parts = std::max(team.in_parts, n);
    return true;
  }
  if (__builtin_expect(team.in_parts == 0, 1)) return false;
  if (n >= team.in_parts) team.in_parts = 0;
  return true;
}

void keep_in_part(Member& member) {
  const Part& part = member.team->part;
  if (member.part == part || member.num == 0) return;
  member.part = part;
  const int worker = part.any() ? static_cast<int>(worker_in_part(part, member.num)) : member.worker;
  front::keep_in(worker >= 0 ? weft_worker_pool(weft_worker_get(static_cast<unsigned>(worker))) : nullptr);
}

}  // namespace weft::omp
