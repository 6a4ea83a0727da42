// taskloop.cpp: a loop cut into tasks.
//
// The compiler makes one task, the pattern, with the whole loop's bounds in it, and tells where they are. Each piece is a copy
// of it with its own bounds. Where there is a function that copies what memcpy() must not, the pattern itself is not run: it
// ends at once, which destroys what is in it. Otherwise it is the last piece. Where a copy is nothing but bytes, pieces.hpp
// makes them.
#include <algorithm>
#include <cstring>
#include <new>

#include "llvm/ident.hpp"
#include "llvm/kmp_task.hpp"
#include "llvm/loop.hpp"
#include "pieces.hpp"
#include "task.hpp"
#include "team.hpp"

namespace weft::omp::llvm {
namespace {

using Duplicate = void (*)(KmpTask* copy, KmpTask* pattern, int32_t last);
constexpr uint64_t kTasksForEach = 10;  // of the team, where the program says nothing

enum How : int32_t { kNotSaid, kGrainSize, kNumTasks };

// `tasks` of `size` iterations, the first `extra` of them with one more. strict: the last one has what is left.
struct Cut {
  uint64_t tasks;
  uint64_t size;
  uint64_t extra;
};

Cut cut(const Member& member, uint64_t trip, int32_t how, uint64_t value, bool strict) {
  if (how == kNotSaid || value == 0) {
    how = kNumTasks;
    value = static_cast<uint64_t>(member.team->n) * kTasksForEach;
  }
  if (how == kGrainSize && strict) {
    const uint64_t size = std::min(value, trip);
    return {trip / size + (trip % size != 0 ? 1 : 0), size, 0};
  }
  const uint64_t tasks = std::clamp<uint64_t>(how == kGrainSize ? trip / value : value, 1, trip);
  return {tasks, trip / tasks, trip % tasks};
}

struct Loop {
  KmpTask* pattern;
  ptrdiff_t lower_at;  // in the descriptor
  ptrdiff_t upper_at;
  uint64_t lower;
  uint64_t step;
  uint64_t trip;
  Duplicate duplicate;
  bool undeferred;

  void set_bounds(KmpTask* task, uint64_t first, uint64_t count) const {
    char* base = reinterpret_cast<char*>(task);
    *reinterpret_cast<uint64_t*>(base + lower_at) = lower + first * step;
    *reinterpret_cast<uint64_t*>(base + upper_at) = lower + (first + count - 1) * step;
  }

  KmpTask* copy(Member& member, bool last) const {
    KmpTask* task = kmp_task_of(copy_task(member, task_of_payload(pattern), undeferred));
    if (duplicate != nullptr) duplicate(task, pattern, last);
    return task;
  }
};

void end_unused(Member& member, KmpTask* pattern) {
  Task* task = task_of_payload(pattern);
  body_ended(task);
  task_unused(member, task);
}

// Pieces that are calls. Behind this, the pattern's payload, which may be gone when they run.
struct Calls : Pieces {
  Loop loop;
  Cut cut;

  static void prepare_piece(const Pieces& pieces, uint64_t number, Task* task) {
    const auto& calls = static_cast<const Calls&>(pieces);
    const uint64_t first = calls.cut.size * number + std::min(number, calls.cut.extra);
    const uint64_t count = std::min(calls.cut.size + (number < calls.cut.extra ? 1 : 0), calls.loop.trip - first);
    KmpTask* kmp = kmp_task_of(task);
    copy_payload(kmp, &calls + 1, calls.bytes, calls.loop.pattern);
    calls.loop.set_bounds(kmp, first, count);
  }
  // An untied one gives itself back where it may let others run: it need not.
  static void run_piece(Task* task) {
    do {
      run_plain(task);
    } while (takes_back(task));
  }
  static bool takes_back(Task* task) {
    if ((task->flags & task_flag::kAgain) == 0) return false;
    task_flags_set(*task, task->flags & ~task_flag::kAgain);
    return true;
  }

  Calls(const Loop& of, const Cut& as) : loop(of), cut(as) {
    const Task* pattern = task_of_payload(of.pattern);
    count = cut.tasks;
    bytes = payload_bytes(pattern);
    flags = flags_of_copy(pattern);
    prepare = prepare_piece;
    run = run_piece;
    std::memcpy(static_cast<void*>(this + 1), of.pattern, bytes);
  }
};

// Whether a copy is nothing but bytes, and its task can be a call.
bool are_calls(const Loop& loop) {
  const Task* pattern = task_of_payload(loop.pattern);
  return loop.duplicate == nullptr && pattern->drop == nullptr && pattern->priority == 0 && !tool::there();
}

void start_copies(Member& member, const Loop& loop, const Cut& pieces) {
  uint64_t first = 0;
  for (uint64_t i = 0; i < pieces.tasks; ++i) {
    const uint64_t count = std::min(pieces.size + (i < pieces.extra ? 1 : 0), loop.trip - first);
    const bool last = i + 1 == pieces.tasks;
    const bool itself = last && loop.duplicate == nullptr && !loop.undeferred;
    KmpTask* task = itself ? loop.pattern : loop.copy(member, last);
    loop.set_bounds(task, first, count);
    if (tool::there()) task_of_payload(task)->seen.piece = {loop.lower + first * loop.step, count};
    first += count;
    task_start(member, task_of_payload(task));
  }
  if (loop.duplicate != nullptr || loop.undeferred) end_unused(member, loop.pattern);
}

struct Wish {
  bool deferred;
  bool group;
  int32_t how;
  uint64_t value;
  bool strict;
};

void taskloop(Member& member, KmpTask* pattern, uint64_t* lower, uint64_t* upper, int64_t step, void* duplicate,
              const Wish& wish) {
  char* base = reinterpret_cast<char*>(pattern);
  not_a_call(member, task_of_payload(pattern));
  read_priority(task_of_payload(pattern));
  Loop loop = {.pattern = pattern,
               .lower_at = reinterpret_cast<char*>(lower) - base,
               .upper_at = reinterpret_cast<char*>(upper) - base,
               .lower = *lower,
               .step = static_cast<uint64_t>(step),
               .trip = trip_count<int64_t>(static_cast<int64_t>(*lower), static_cast<int64_t>(*upper), step),
               .duplicate = reinterpret_cast<Duplicate>(duplicate),
               .undeferred = !wish.deferred};
  // Bounds of an unsigned loop that are beyond the signed ones.
  if (loop.trip == 0 && step > 0 && *upper >= *lower) loop.trip = trip_count<uint64_t>(*lower, *upper, step);
  if (loop.trip == 0) {
    end_unused(member, pattern);
    return;
  }
  TaskGroup group;
  if (tool::there()) tool::work(member, ompt_work_taskloop, ompt_scope_begin, loop.trip);
  if (wish.group) group_begin(member, &group);
  const Cut pieces = cut(member, loop.trip, wish.how, wish.value, wish.strict);
  if (are_calls(loop)) {
    const bool now = loop.undeferred || tasks_are_included(member);
    auto* calls = new (pieces_memory(sizeof(Calls) + payload_bytes(task_of_payload(pattern)))) Calls(loop, pieces);
    end_unused(member, pattern);
    start_pieces(member, calls, now ? When::kNow : wish.group ? When::kWaited : When::kDeferred);
  } else {
    start_copies(member, loop, pieces);
  }
  if (wish.group) group_end(member);
  if (tool::there()) tool::work(member, ompt_work_taskloop, ompt_scope_end, loop.trip);
}

}  // namespace
}  // namespace weft::omp::llvm

using namespace weft::omp;
using namespace weft::omp::llvm;

WEFT_OMP_API void __kmpc_taskloop(Ident*, int32_t gtid, KmpTask* pattern, int32_t condition, uint64_t* lower,
                                  uint64_t* upper, int64_t step, int32_t nogroup, int32_t how, uint64_t value,
                                  void* duplicate) {
  const tool::Entry entry(WEFT_OMP_CALLER);
  taskloop(*thread_of(gtid).member, pattern, lower, upper, step, duplicate,
           {.deferred = condition != 0, .group = nogroup == 0, .how = how, .value = value, .strict = false});
}

// modifier 1: strict.
WEFT_OMP_API void __kmpc_taskloop_5(Ident*, int32_t gtid, KmpTask* pattern, int32_t condition, uint64_t* lower,
                                    uint64_t* upper, int64_t step, int32_t nogroup, int32_t how, uint64_t value,
                                    int32_t modifier, void* duplicate) {
  const tool::Entry entry(WEFT_OMP_CALLER);
  taskloop(*thread_of(gtid).member, pattern, lower, upper, step, duplicate,
           {.deferred = condition != 0, .group = nogroup == 0, .how = how, .value = value, .strict = modifier != 0});
}
