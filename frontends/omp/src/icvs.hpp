// icvs.hpp: implicit tasks: what each region's members begin and end with.
#pragma once

#include "team.hpp"

namespace weft::omp {

// With its team's ICVs.
void implicit_task_begin(Member& member);
// Gives back what it has set and made. Precondition: its tasks have ended.
void implicit_task_end(Member& member);
// What a task has set of its own is given back.
void icvs_release(Task& task);

Share* share_head_create();
void share_head_destroy(Share* head);
// The member leaves the last construct of its region; of a cancelled one it does not, because others may have skipped some:
// then member 0 frees what there is, when all have ended.
void share_leave_last(Member& member);
void shares_forget(Team& team);

void queue_destroy(Queue& queue);

}  // namespace weft::omp
