// workshare.cpp: a region's worksharing constructs form a list. Each member walks along it at its own pace; the first that comes
// to its end makes the next one, and the last that leaves one frees it. The list begins with a head that is no construct, and
// which stays.
#include "workshare.hpp"

#include <cstdlib>
#include <cstring>
#include <new>

#include "barrier.hpp"
#include "icvs.hpp"
#include "memory.hpp"
#include "wait.hpp"

namespace weft::omp {

namespace {

uint64_t iterations_in(const LoopSpec& spec) {
  uint64_t product = 1;
  for (unsigned i = 0; i < spec.dims; ++i) product *= spec.counts[i];
  return product;
}

Share* share_create(Thread& thread, const LoopSpec& spec) {
  auto* share = new (block_acquire(thread, sizeof(Share))) Share;
  share->spec = spec;
  share->gnu = spec.gnu;
  if (spec.memory != 0) {
    share->memory = block_from_system(spec.memory);
    std::memset(share->memory, 0, spec.memory);
  }
  if (spec.dims != 0) {
    share->counts = static_cast<uint64_t*>(block_from_system(spec.dims * sizeof(uint64_t)));
    std::memcpy(share->counts, spec.counts, spec.dims * sizeof(uint64_t));
    const size_t bytes = (iterations_in(spec) / 64 + 1) * sizeof(uint64_t);
    share->posted = static_cast<std::atomic<uint64_t>*>(std::calloc(1, bytes));
    if (share->posted == nullptr) block_from_system(SIZE_MAX / 2);  // says so, and ends
    share->spec.counts = share->counts;
  }
  return share;
}

void share_free(Thread& thread, Share* share) {
  std::free(share->memory);
  std::free(share->counts);
  std::free(share->posted);
  block_release(&thread, share, sizeof(Share));
}

void wait_for_turn(Member& member) {
  Share& share = *member.share;
  const uint64_t mine = member.chunk_first;
  if (share.turn.load(std::memory_order_acquire) >= mine) return;  // most often: it has had it since its piece began
  wait_until(member, Work::kNone, [&] {
    return share.turn.load(std::memory_order_acquire) >= mine || share.cancelled.load(std::memory_order_acquire) ||
           member.team->cancelled.load(std::memory_order_acquire);
  });
}

// The member's piece ends; whoever comes next may begin what is ordered.
void pass_turn(Member& member) {
  Share& share = *member.share;
  if (!share.spec.ordered || member.chunk_first == member.chunk_last) return;
  wait_for_turn(member);
  share.turn.store(member.chunk_last, std::memory_order_seq_cst);  // W2 of wait.hpp; release, pairs with wait_for_turn()
  member.chunk_first = member.chunk_last;
  wake_all(*member.team);
}

bool next_static(Member& member, const LoopSpec& spec, uint64_t* first, uint64_t* last) {
  const auto n = static_cast<uint64_t>(member.team->n);
  const auto num = static_cast<uint64_t>(member.num);
  if (spec.chunk == 0) {
    if (member.static_turn != 0) return false;
    const uint64_t share = spec.trip / n;
    const uint64_t longer = spec.trip % n;  // the first ones get one more
    *first = num * share + (num < longer ? num : longer);
    *last = *first + share + (num < longer ? 1 : 0);
  } else {
    // What does not fit in 64 bits lies behind the end.
    uint64_t piece;
    if (__builtin_mul_overflow(member.static_turn, n, &piece) || __builtin_add_overflow(piece, num, &piece) ||
        __builtin_mul_overflow(piece, spec.chunk, first) || *first >= spec.trip) {
      return false;
    }
    *last = spec.trip - *first < spec.chunk ? spec.trip : *first + spec.chunk;
  }
  ++member.static_turn;
  return *first != *last;
}

// Nobody can tell in which pieces one thread has them, but a tool; and of sections each is asked for.
bool comes_as_one(const Member& member, const LoopSpec& spec) {
  return member.team->n == 1 && !spec.sections && !tool::there();
}

bool next_whole(Member& member, const LoopSpec& spec, uint64_t* first, uint64_t* last) {
  if (member.static_turn++ != 0) return false;
  *first = 0;
  *last = spec.trip;
  return spec.trip != 0;
}

bool next_dynamic(Share& share, uint64_t* first, uint64_t* last) {
  const LoopSpec& spec = share.spec;
  // While the counter cannot wrap around by everybody's last attempt, an addition does.
  constexpr uint64_t kFar = uint64_t{1} << 62;
  if (spec.trip < kFar && spec.chunk < (uint64_t{1} << 40)) {
    if (share.next_iteration.load(std::memory_order_relaxed) >= spec.trip) return false;
    *first = share.next_iteration.fetch_add(spec.chunk, std::memory_order_relaxed);
    if (*first >= spec.trip) return false;
    *last = spec.trip - *first < spec.chunk ? spec.trip : *first + spec.chunk;
    return true;
  }
  uint64_t next = share.next_iteration.load(std::memory_order_relaxed);
  do {
    if (next >= spec.trip) return false;
    *last = spec.trip - next < spec.chunk ? spec.trip : next + spec.chunk;
  } while (!share.next_iteration.compare_exchange_weak(next, *last, std::memory_order_relaxed));
  *first = next;
  return true;
}

bool next_guided(Share& share, int n, uint64_t* first, uint64_t* last) {
  const LoopSpec& spec = share.spec;
  uint64_t next = share.next_iteration.load(std::memory_order_relaxed);
  do {
    if (next >= spec.trip) return false;
    const uint64_t left = spec.trip - next;
    uint64_t piece = (left - 1) / static_cast<uint64_t>(n) + 1;
    if (piece < spec.chunk) piece = spec.chunk;
    *last = piece < left ? next + piece : spec.trip;
  } while (!share.next_iteration.compare_exchange_weak(next, *last, std::memory_order_relaxed));
  *first = next;
  return true;
}

}  // namespace

LoopSpec runtime_spec(const Member& member, uint64_t trip) {
  const Schedule& schedule = icvs_of(member).run_sched;
  LoopSpec spec;
  spec.trip = trip;
  switch (schedule.kind) {
    case Sched::kDynamic: spec.deal = Deal::kDynamic; break;
    case Sched::kGuided:
    case Sched::kTrapezoidal: spec.deal = Deal::kGuided; break;
    case Sched::kStatic:
    case Sched::kAuto: spec.deal = Deal::kStatic; break;
  }
  if (schedule.chunk > 0 && schedule.kind != Sched::kAuto) spec.chunk = static_cast<uint64_t>(schedule.chunk);
  return spec;
}

Share* share_head_create() { return new Share; }
void share_head_destroy(Share* head) { delete head; }

namespace {

void share_leave(Member& member) {
  Share* share = member.share;
  if (share == member.head) return;
  // Both: whoever frees it has seen everybody else's last use.
  if (share->left.fetch_add(1, std::memory_order_acq_rel) + 1 == member.team->n) share_free(*member.thread, share);
}

}  // namespace

void share_leave_last(Member& member) {
  if (__builtin_expect(member.team->cancelled.load(std::memory_order_relaxed), 0)) return;
  share_leave(member);
  member.share = nullptr;
}

void shares_forget(Team& team) {
  // What everybody has left is gone; the others begin with the earliest that somebody is still in.
  Share* earliest = nullptr;
  for (int i = 0; i < team.n; ++i) {
    Share* share = team.members[i].share;
    if (share != nullptr && (earliest == nullptr || share->number < earliest->number)) earliest = share;
  }
  while (earliest != nullptr) {
    Share* next = earliest->next.load(std::memory_order_relaxed);
    if (earliest != team.members[0].head) share_free(*team.members[0].thread, earliest);
    earliest = next;
  }
}

bool loop_begin(Member& member, const LoopSpec& spec) {
  Share* before = member.share;
  // Acquire, pairs with the release below: the construct as it was made.
  Share* next = before->next.load(std::memory_order_acquire);
  bool made = false;
  if (next == nullptr) {
    Share* mine = share_create(*member.thread, spec);
    mine->number = before->number + 1;
    if (mine->spec.chunk == 0 && spec.deal != Deal::kStatic) mine->spec.chunk = 1;
    // Who loses must not have done what `made` does: so there is a turn of those who make one.
    if (spec.made != nullptr) {
      Share* const claimed = reinterpret_cast<Share*>(alignof(Share) / 2);
      if (before->next.compare_exchange_strong(next, claimed, std::memory_order_acq_rel)) {
        spec.made(spec.gnu);
        before->next.store(mine, std::memory_order_seq_cst);  // W2 of wait.hpp
        wake_all(*member.team);
        next = mine;
        made = true;
      }
    } else if (before->next.compare_exchange_strong(next, mine, std::memory_order_acq_rel)) {
      next = mine;
      made = true;
    }
    if (!made) share_free(*member.thread, mine);
  }
  if (__builtin_expect(reinterpret_cast<uintptr_t>(next) == alignof(Share) / 2, 0)) {
    wait_until(member, Work::kNone, [before] {
      return reinterpret_cast<uintptr_t>(before->next.load(std::memory_order_acquire)) != alignof(Share) / 2;
    });
    next = before->next.load(std::memory_order_acquire);
  }
  share_leave(member);
  member.share = next;
  member.chunk_first = member.chunk_last = 0;
  member.static_turn = 0;
  return made;
}

bool loop_next(Member& member, uint64_t* first, uint64_t* last) {
  Share& share = *member.share;
  pass_turn(member);
  if (share.cancelled.load(std::memory_order_relaxed) || member.team->cancelled.load(std::memory_order_relaxed)) return false;
  const LoopSpec& spec = share.spec;
  bool some = false;
  if (comes_as_one(member, spec)) {
    some = next_whole(member, spec, first, last);
  } else if (spec.deal == Deal::kStatic) {
    some = next_static(member, spec, first, last);
  } else {
    some = spec.deal == Deal::kDynamic ? next_dynamic(share, first, last) : next_guided(share, member.team->n, first, last);
  }
  if (!some) return false;
  member.chunk_first = *first;
  member.chunk_last = *last;
  return true;
}

void loop_end(Member& member) {
  pass_turn(member);
  member.chunk_first = member.chunk_last = 0;
}

void ordered_begin(Member& member, bool in_loop) {
  if (in_loop && member.share->spec.ordered) wait_for_turn(member);
}

void ordered_begin_seen(Member& member, bool in_loop) {
  tool::mutex_wanted(ompt_mutex_ordered, member.team);
  ordered_begin(member, in_loop);
  tool::mutex_taken(ompt_mutex_ordered, member.team);
}

void ordered_end_seen(Member& member) { tool::mutex_left(ompt_mutex_ordered, member.team); }

bool cancel_loop(Member& member) {
  if (!device().cancel) return false;
  member.share->cancelled.store(true, std::memory_order_seq_cst);
  wake_all(*member.team);
  return true;
}

bool loop_cancelled(const Member& member) {
  if (!device().cancel) return false;
  return member.share->cancelled.load(std::memory_order_relaxed) || member.team->cancelled.load(std::memory_order_relaxed);
}

// ---- doacross

namespace {

// Its number among all, or SIZE_MAX: it is none of the loop's.
uint64_t iteration_of(const Share& share, const int64_t* vec) {
  uint64_t number = 0;
  for (unsigned i = 0; i < share.spec.dims; ++i) {
    if (vec[i] < 0 || static_cast<uint64_t>(vec[i]) >= share.counts[i]) return UINT64_MAX;
    number = number * share.counts[i] + static_cast<uint64_t>(vec[i]);
  }
  return number;
}

}  // namespace

void doacross_post(Member& member, const int64_t* vec) {
  Share& share = *member.share;
  if (share.posted == nullptr) return;
  const uint64_t number = iteration_of(share, vec);
  if (number == UINT64_MAX) return;
  share.posted[number / 64].fetch_or(uint64_t{1} << (number % 64), std::memory_order_seq_cst);  // W2 of wait.hpp
  wake_all(*member.team);
}

bool doacross_wait(Member& member, const int64_t* vec) {
  Share& share = *member.share;
  if (share.posted == nullptr) return false;
  const uint64_t number = iteration_of(share, vec);
  if (number == UINT64_MAX) return false;
  const std::atomic<uint64_t>& word = share.posted[number / 64];
  const uint64_t bit = uint64_t{1} << (number % 64);
  // Acquire, pairs with doacross_post().
  wait_until(member, Work::kNone, [&] { return (word.load(std::memory_order_acquire) & bit) != 0; });
  return true;
}

// ---- single

bool single(Member& member) {
  Team& team = *member.team;
  const uint32_t mine = member.singles++;
  uint32_t taken = team.singles.load(std::memory_order_relaxed);
  return taken == mine && team.singles.compare_exchange_strong(taken, mine + 1, std::memory_order_relaxed);
}

void* copyprivate(Member& member, void* mine) {
  Team& team = *member.team;
  if (mine != nullptr) team.copyprivate.store(mine, std::memory_order_release);
  barrier(member);
  return team.copyprivate.load(std::memory_order_acquire);
}

void copyprivate_done(Member& member) { barrier(member); }

}  // namespace weft::omp
