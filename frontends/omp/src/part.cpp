#include "part.hpp"

#include "front/front.hpp"
#include "team.hpp"

namespace weft::omp {

void keep_in_part(Member& member) {
  const Part& part = member.team->part;
  if (member.part == part || member.num == 0) return;
  member.part = part;
  const int worker = part.any() ? static_cast<int>(worker_in_part(part, member.num)) : member.worker;
  front::keep_in(worker >= 0 ? weft_worker_pool(weft_worker_get(static_cast<unsigned>(worker))) : nullptr);
}

}  // namespace weft::omp
