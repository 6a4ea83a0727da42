#include "pieces.hpp"

#include <algorithm>
#include <cstdlib>
#include <utility>

#include "memory.hpp"
#include "os/clock.hpp"
#include "queue.hpp"
#include "task_call.hpp"
#include "team.hpp"

namespace weft::omp {

namespace {

constexpr uint64_t kInHands = 4000;  // ns: a fraction of what it takes to wake somebody
constexpr uint64_t kMostInHands = 1024;

struct Range {
  Pieces* pieces;
  uint64_t first;
  uint64_t last;  // behind it
};

Range& range_of(Task* task) { return *static_cast<Range*>(payload(task)); }

void release(Pieces* pieces) {
  if (pieces->references.fetch_sub(1, std::memory_order_acq_rel) == 1) std::free(pieces);
}

// So many have ended, or are dropped.
void less_left(Pieces& pieces, uint64_t ended) {
  if (pieces.whole == nullptr || ended == 0) return;
  Task* whole = pieces.whole;
  // Release, acquire: all that pieces did comes before the end of the whole.
  if (pieces.left.fetch_sub(ended, std::memory_order_acq_rel) == ended) event_fulfill(whole);
}

void share(Member& member, Pieces& pieces, uint64_t first, uint64_t last);

void run_range(Task* task) {
  Range& range = range_of(task);
  share(*task->member, *range.pieces, range.first, range.last);
  range.first = range.last;
}

// Also of one that has not run.
void drop_range(Task* task) {
  const Range& range = range_of(task);
  less_left(*range.pieces, range.last - range.first);
  release(range.pieces);
}

// False: there is no place in the queue.
bool queue_range(Member& member, Pieces& pieces, uint64_t first, uint64_t last) {
  if (queue_is_full(member)) return false;
  Task* task = task_create(member, {.run = run_range, .drop = drop_range}, sizeof(Range));
  member.thread->stats.take_back(Stat::kTasks);  // it is none of the program's
  range_of(task) = {&pieces, first, last};
  pieces.references.fetch_add(1, std::memory_order_relaxed);
  count_task(*task);
  queue_push(member, task);  // nobody else pushes here, so there is place still
  return true;
}

// The second half is queued.
bool split(Member& member, Pieces& pieces, uint64_t first, uint64_t& last) {
  const uint64_t middle = last - (last - first) / 2;
  if (!queue_range(member, pieces, middle, last)) return false;
  last = middle;
  return true;
}

void measured(Pieces& pieces, uint64_t had, uint64_t ran, uint64_t time) {
  // Not what somebody else has found out meanwhile.
  if (2 * ran > had && time < kInHands / 2 && had < kMostInHands) {
    pieces.at_once.compare_exchange_strong(had, 2 * had, std::memory_order_relaxed);
  } else if (time > 2 * kInHands && had > 1) {
    const uint64_t fewer = std::max<uint64_t>(1, kInHands * ran / time);
    if (fewer < had) pieces.at_once.compare_exchange_strong(had, fewer, std::memory_order_relaxed);
  }
}

void call(const Member& member, const Pieces& pieces, uint64_t number, TaskCalls& calls) {
  if (group_cancelled(member)) return;
  pieces.prepare(pieces, number, calls.next());
  calls.call(pieces.run);
}

void share(Member& member, Pieces& pieces, uint64_t first, uint64_t last) {
  const uint64_t at_once = pieces.at_once.load(std::memory_order_relaxed);
  while (last - first > at_once && split(member, pieces, first, last)) {
  }
  const uint64_t began = first;
  const uint64_t since = rt::now_ns();
  {
    TaskCalls calls(member, pieces.flags, pieces.bytes);
    for (; first != last; ++first) {
      // Others find something as long as there is more than this one.
      if (last - first > 1 && !queue_is_busy(member)) split(member, pieces, first, last);
      call(member, pieces, first, calls);
    }
  }
  measured(pieces, at_once, first - began, rt::now_ns() - since);
  less_left(pieces, first - began);
}

// It goes on when all ranges are queued.
void defer(Member& member, Pieces& pieces) {
  pieces.whole = task_create(member, {.flags = task_flag::kDetachable});
  count_task(*pieces.whole);
  member.thread->stats.take_back(Stat::kTasks);
  pieces.left.store(pieces.count, std::memory_order_relaxed);
  Task* maker = std::exchange(member.task, pieces.whole);
  uint64_t last = pieces.count;
  while (last > 1 && split(member, pieces, 0, last)) {
  }
  if (!queue_range(member, pieces, 0, last)) share(member, pieces, 0, last);
  member.task = maker;
  task_finish(*member.thread, pieces.whole);
}

}  // namespace

void* pieces_memory(size_t bytes) { return block_from_system(bytes); }

void start_pieces(Member& member, Pieces* pieces, When when) {
  if (when == When::kNow || member.team->n == 1) {
    TaskCalls calls(member, pieces->flags, pieces->bytes);
    for (uint64_t i = 0; i < pieces->count; ++i) call(member, *pieces, i, calls);
  } else if (pieces->count != 0) {
    when == When::kWaited ? share(member, *pieces, 0, pieces->count) : defer(member, *pieces);
  }
  release(pieces);
}

}  // namespace weft::omp
