// team.cpp: where in the tree of regions and tasks the caller is.
#include "api/caller.hpp"
#include "api/fortran.hpp"
#include "api/weak.hpp"

namespace {

using namespace weft::omp;

// The caller's ancestor, or itself, in the region at `level`; null: there is none.
const Member* ancestor(int level) {
  const Member* member = caller();
  if (member == nullptr || level < 0 || level > member->team->level) return nullptr;
  while (member->team->level > level && member->team->opener != nullptr) member = member->team->opener;
  return member;
}

bool in_parallel() {
  const Member* member = caller();
  return member != nullptr && member->team->active_level > 0;
}

}  // namespace

WEFT_OMP_API int omp_get_thread_num() {
  const Member* member = caller();
  return member != nullptr ? member->num : 0;
}
WEFT_OMP_PLAIN(omp_get_thread_num, "OMP_1.0")

WEFT_OMP_API int omp_get_num_threads() {
  const Member* member = caller();
  return member != nullptr ? member->team->n : 1;
}
WEFT_OMP_PLAIN(omp_get_num_threads, "OMP_1.0")

WEFT_OMP_API int omp_in_parallel() { return in_parallel() && !called_without_runtime(__builtin_return_address(0)); }
WEFT_OMP_GNU(omp_in_parallel, "OMP_1.0")
WEFT_OMP_API int omp_in_parallel_() { return in_parallel(); }  // Fortran has no weak references
WEFT_OMP_GNU(omp_in_parallel_, "OMP_1.0")

WEFT_OMP_API int omp_get_level() {
  const Member* member = caller();
  return member != nullptr ? member->team->level : 0;
}
WEFT_OMP_PLAIN(omp_get_level, "OMP_3.0")

WEFT_OMP_API int omp_get_active_level() {
  const Member* member = caller();
  return member != nullptr ? member->team->active_level : 0;
}
WEFT_OMP_PLAIN(omp_get_active_level, "OMP_3.0")

WEFT_OMP_API int omp_get_ancestor_thread_num(int level) {
  if (level == 0) return 0;
  const Member* member = ancestor(level);
  return member != nullptr ? member->num : -1;
}
WEFT_OMP_NUMBER(omp_get_ancestor_thread_num, "OMP_3.0")

WEFT_OMP_API int omp_get_team_size(int level) {
  if (level == 0) return 1;
  const Member* member = ancestor(level);
  return member != nullptr ? member->team->n : -1;
}
WEFT_OMP_NUMBER(omp_get_team_size, "OMP_3.0")

WEFT_OMP_API int omp_get_team_num() {
  const Member* member = caller();
  return member != nullptr ? member->team->league_num : 0;
}
WEFT_OMP_PLAIN(omp_get_team_num, "OMP_4.0")

WEFT_OMP_API int omp_get_num_teams() {
  const Member* member = caller();
  return member != nullptr ? member->team->league_size : 1;
}
WEFT_OMP_PLAIN(omp_get_num_teams, "OMP_4.0")

WEFT_OMP_API int omp_in_final() {
  const Member* member = caller();
  return member != nullptr && (member->task->flags & task_flag::kFinal) != 0;
}
WEFT_OMP_PLAIN(omp_in_final, "OMP_3.1")

WEFT_OMP_API int omp_in_explicit_task() {
  const Member* member = caller();
  return member != nullptr && (member->task->flags & task_flag::kImplicit) == 0;
}
WEFT_OMP_PLAIN(omp_in_explicit_task, "OMP_5.2")

// Threads from outside a team that run its tasks: there are none.
WEFT_OMP_API int omp_is_free_agent() { return 0; }
WEFT_OMP_API int omp_is_free_agent_() { return 0; }
WEFT_OMP_API int omp_ancestor_is_free_agent(int) { return 0; }
WEFT_OMP_API int omp_ancestor_is_free_agent_(const int*) { return 0; }

// Of flang's: C's functions under a name of their own.
WEFT_OMP_API int ompc_get_ancestor_thread_num(int level) { return omp_get_ancestor_thread_num(level); }
WEFT_OMP_API int ompc_get_team_size(int level) { return omp_get_team_size(level); }
