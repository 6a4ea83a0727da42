// team_icvs.cpp: a task that sets an ICV gets a copy of its own. Its children look at what was there when they were made, so a
// copy that they may look at stays as it is: there are several then, until the task has ended with all its descendants.
#include <cstddef>

#include "icvs.hpp"
#include "task_end.hpp"

namespace weft::omp {

namespace {

struct OwnIcvs {
  Icvs icvs;
  OwnIcvs* older = nullptr;
};
static_assert(offsetof(OwnIcvs, icvs) == 0);

}  // namespace

Icvs& own_icvs(Member& member) {
  Task& task = *member.task;
  if (task.icvs_own != nullptr && tasks_are_done(task)) return *task.icvs_own;
  auto* own = new OwnIcvs{*task.icvs, reinterpret_cast<OwnIcvs*>(task.icvs_own)};
  task.icvs_own = &own->icvs;
  task.icvs = &own->icvs;
  return own->icvs;
}

void icvs_release(Task& task) {
  auto* own = reinterpret_cast<OwnIcvs*>(task.icvs_own);
  while (own != nullptr) {
    OwnIcvs* older = own->older;
    delete own;
    own = older;
  }
  task.icvs_own = nullptr;
}

}  // namespace weft::omp
