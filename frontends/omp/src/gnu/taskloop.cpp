// taskloop.cpp: a loop cut into tasks. Each task's arguments begin with the bounds of its part, which we write there.
#include <algorithm>
#include <cstdint>

#include "export.hpp"
#include "gnu/loop.hpp"
#include "gnu/reduction.hpp"
#include "gnu/make_task.hpp"
#include "gnu/taskgroup.hpp"
#include "task_end.hpp"
#include "team.hpp"

namespace weft::omp::gnu {
namespace {

// How many tasks of how many iterations: the first `longer` ones have `each` + 1; with `strict`, the last one what is left.
struct Cut {
  uint64_t tasks;
  uint64_t each;
  uint64_t longer;
};

Cut cut(uint64_t trip, unsigned flags, uint64_t number, uint64_t threads) {
  if (flags & kFlagGrainsize) {
    const uint64_t grain = std::max<uint64_t>(number, 1);
    if (flags & kFlagStrict) return {(trip - 1) / grain + 1, grain, 0};
    const uint64_t tasks = std::max<uint64_t>(trip / grain, 1);
    return {tasks, trip / tasks, trip % tasks};
  }
  const uint64_t tasks = std::min(number ? number : threads, trip);
  return {tasks, trip / tasks, trip % tasks};
}

// The third of the arguments, where there are reductions.
Reductions* reductions_of(void* data) { return static_cast<Reductions**>(data)[2]; }

template <class Number>
void make_tasks(Member& member, Function fn, const Arguments& arguments, unsigned flags, int priority, const Cut& cut,
                uint64_t trip, Number start, Number end, Number step) {
  TaskWish wish = make_wish(member, flags, priority);
  if (!(flags & kFlagIf)) wish.flags |= task_flag::kUndeferred;
  uint64_t at = 0;
  for (uint64_t i = 0; i < cut.tasks; i++) {
    const uint64_t behind = std::min(at + cut.each + (i < cut.longer ? 1 : 0), trip);
    void* own;
    Task* task = make_task(member, wish, fn, arguments, &own);
    auto* bounds = static_cast<Number*>(own);
    // All wraps around, as in loops; the last part ends where the loop does.
    bounds[0] = static_cast<Number>(static_cast<uint64_t>(start) + at * static_cast<uint64_t>(step));
    bounds[1] = behind == trip
                    ? end
                    : static_cast<Number>(static_cast<uint64_t>(start) + behind * static_cast<uint64_t>(step));
    if (tool::there()) task->seen.piece = {static_cast<uint64_t>(bounds[0]), behind - at};
    task_start(member, task);
    at = behind;
  }
}

template <class Number>
void taskloop(Function fn, const Arguments& arguments, unsigned flags, uint64_t number, int priority, uint64_t trip,
              Number start, Number end, Number step) {
  static_assert(sizeof(Number) == sizeof(uint64_t));
  Member& member = this_member();
  const bool grouped = !(flags & kFlagNogroup);
  if (trip == 0 || group_cancelled(member)) {
    // So the code knows that there is nothing to combine.
    if (grouped && (flags & kFlagReduction)) reductions_of(arguments.data)->base = 0;
    return;
  }
  if (tool::there()) tool::work(member, ompt_work_taskloop, ompt_scope_begin, trip);
  if (grouped) {
    taskgroup_begin(member);
    if (flags & kFlagReduction) {
      Reductions* reductions = reductions_of(arguments.data);
      allocate(reductions, static_cast<unsigned>(member.team->n));
      workshare_group_join(member, reductions, reductions);
    }
  }
  const Cut parts = cut(trip, flags, number, static_cast<uint64_t>(member.team->n));
  make_tasks(member, fn, arguments, flags, priority, parts, trip, start, end, step);
  if (grouped) taskgroup_end(member);
  if (tool::there()) tool::work(member, ompt_work_taskloop, ompt_scope_end, trip);
}

}  // namespace
}  // namespace weft::omp::gnu

using namespace weft::omp;
using gnu::Ull;

WEFT_OMP_API void GOMP_taskloop(gnu::Function fn, void* data, gnu::Copy copy, long size, long align, unsigned flags,
                                unsigned long number, int priority, long start, long end, long step) {
  const tool::Entry entry(WEFT_OMP_CALLER);
  const gnu::Arguments arguments{data, copy, static_cast<size_t>(size), static_cast<size_t>(align)};
  gnu::taskloop(fn, arguments, flags, number, priority, gnu::trip_count(start, end, step), start, end, step);
}
WEFT_OMP_GNU(GOMP_taskloop, "GOMP_4.5")

WEFT_OMP_API void GOMP_taskloop_ull(gnu::Function fn, void* data, gnu::Copy copy, long size, long align, unsigned flags,
                                    unsigned long number, int priority, Ull start, Ull end, Ull step) {
  const tool::Entry entry(WEFT_OMP_CALLER);
  const gnu::Arguments arguments{data, copy, static_cast<size_t>(size), static_cast<size_t>(align)};
  const uint64_t trip = gnu::trip_count((flags & gnu::kFlagUp) != 0, start, end, step);
  gnu::taskloop(fn, arguments, flags, number, priority, trip, start, end, step);
}
WEFT_OMP_GNU(GOMP_taskloop_ull, "GOMP_4.5")
