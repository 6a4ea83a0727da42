// taskloop.cpp: a loop cut into tasks. Each task's arguments begin with the bounds of its part, which we write there.
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <new>

#include "export.hpp"
#include "gnu/loop.hpp"
#include "gnu/reduction.hpp"
#include "gnu/make_task.hpp"
#include "gnu/taskgroup.hpp"
#include "pieces.hpp"
#include "task_end.hpp"
#include "team.hpp"

namespace weft::omp::gnu {
namespace {

// How many tasks of how many iterations: the first `longer` ones have `each` + 1; with `strict`, the last one what is left.
struct Cut {
  uint64_t tasks;
  uint64_t each;
  uint64_t longer;

  // Where a task's part begins; of `tasks`, where the last one ends.
  uint64_t at(uint64_t number, uint64_t trip) const {
    return number == tasks ? trip : number * each + std::min(number, longer);
  }
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

// All wraps around, as in loops; the last part ends where the loop does.
template <class Number>
void set_bounds(void* own, uint64_t from, uint64_t behind, uint64_t trip, Number start, Number end, Number step) {
  auto* bounds = static_cast<Number*>(own);
  bounds[0] = static_cast<Number>(static_cast<uint64_t>(start) + from * static_cast<uint64_t>(step));
  bounds[1] =
      behind == trip ? end : static_cast<Number>(static_cast<uint64_t>(start) + behind * static_cast<uint64_t>(step));
}

template <class Number>
struct Loop : Pieces {
  Function fn;
  size_t size;   // of the arguments, which lie behind this
  size_t align;
  Cut cut;
  uint64_t trip;
  Number start;
  Number end;
  Number step;

  // A piece's data: the function, and behind it the arguments, at a multiple of 16, or of what they want.
  static constexpr size_t kFront = 16;
  static void* arguments_of(Task* task, size_t align) {
    const auto begin = reinterpret_cast<uintptr_t>(payload(task)) + kFront;
    return reinterpret_cast<void*>(align <= kFront ? begin : (begin + align - 1) & ~(align - 1));
  }
  struct Call {
    Function fn;
    void* data;
  };
  static_assert(sizeof(Call) <= kFront);

  static void prepare_piece(const Pieces& pieces, uint64_t number, Task* task) {
    const auto& loop = static_cast<const Loop&>(pieces);
    void* own = arguments_of(task, loop.align);
    *static_cast<Call*>(payload(task)) = {loop.fn, own};
    std::memcpy(own, &loop + 1, loop.size);
    const uint64_t from = loop.cut.at(number, loop.trip);
    set_bounds(own, from, loop.cut.at(number + 1, loop.trip), loop.trip, loop.start, loop.end, loop.step);
  }
  static void run_piece(Task* task) {
    const Call& call = *static_cast<Call*>(payload(task));
    call.fn(call.data);
  }

  Loop(Function fn, const Arguments& arguments, unsigned flags, const Cut& cut, uint64_t trip, Number start, Number end,
       Number step)
      : fn(fn), size(arguments.size), align(arguments.align), cut(cut), trip(trip), start(start), end(end), step(step) {
    std::memcpy(static_cast<void*>(this + 1), arguments.data, size);
    count = cut.tasks;
    bytes = kFront + arguments.size + (arguments.align > kFront ? arguments.align : 0);
    this->flags = core_flags(flags);
    prepare = prepare_piece;
    run = run_piece;
  }
};

template <class Number>
void make_tasks(Member& member, Function fn, const Arguments& arguments, unsigned flags, int priority, const Cut& cut,
                uint64_t trip, Number start, Number end, Number step) {
  TaskWish wish = make_wish(member, flags, priority);
  if (!(flags & kFlagIf)) wish.flags |= task_flag::kUndeferred;
  for (uint64_t i = 0; i < cut.tasks; i++) {
    const uint64_t at = cut.at(i, trip);
    const uint64_t behind = cut.at(i + 1, trip);
    void* own;
    Task* task = make_task(member, wish, fn, arguments, &own);
    set_bounds(own, at, behind, trip, start, end, step);
    if (tool::there()) task->seen.piece = {static_cast<uint64_t>(*static_cast<Number*>(own)), behind - at};
    task_start(member, task);
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
  const bool now = !(flags & kFlagIf) || tasks_are_included(member);
  const bool bytes_only = arguments.copy == nullptr && !tool::there();
  if (bytes_only && (now || !(flags & kFlagPriority))) {
    void* memory = pieces_memory(sizeof(Loop<Number>) + arguments.size);
    const When when = now ? When::kNow : grouped ? When::kWaited : When::kDeferred;
    start_pieces(member, new (memory) Loop<Number>(fn, arguments, flags, parts, trip, start, end, step), when);
  } else {
    make_tasks(member, fn, arguments, flags, priority, parts, trip, start, end, step);
  }
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
