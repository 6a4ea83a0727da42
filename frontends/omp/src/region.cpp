// region.cpp: parallel regions. Teams are kept by the member that has opened them, at every level; so a region costs a store to
// each of its threads, and one atomic addition of each at its end.
//
// With two threads that is two trips of a cache line from core to core, if nothing else has to travel that a thread waits for on its way
// from the one to the other: a load that misses is waited for even if nobody needs its value, since the addition is locked. So what a
// thread needs comes with the line on which it looks (Order); nothing that the opener writes in each region lies beside what others
// read; and the count of those at the end is not set back.
#include "region.hpp"

#include <algorithm>
#include <bit>
#include <utility>
#include <vector>

#include "affinity.hpp"
#include "arch/context.hpp"
#include "barrier.hpp"
#include "crowd.hpp"
#include "icvs.hpp"
#include "keep.hpp"
#include "memory.hpp"
#include "nearby.hpp"
#include "os/clock.hpp"
#include "part.hpp"
#include "places.hpp"
#include "runtime.hpp"
#include "task_end.hpp"
#include "thread.hpp"
#include "thread_start.hpp"
#include "wait.hpp"
#include "workshare.hpp"

namespace weft::omp {

void Members::grow(int n) {
  const auto size = static_cast<int>(std::bit_ceil(static_cast<unsigned>(n)));
  if (size <= size_) return;
  Member* added = owned_.emplace_back(std::make_unique<Member[]>(static_cast<size_t>(size - size_))).get();
  for (auto part = static_cast<unsigned>(std::bit_width(static_cast<unsigned>(size_))); first_of(part) < size; ++part) {
    parts_[part] = added + (first_of(part) - size_);
  }
  size_ = size;
}

namespace {

[[gnu::noinline]] bool places_changed(Team& team) {
  std::vector<int> places(static_cast<size_t>(team.n), -1);
  for (int i = 0; !device().places.empty() && i < team.n; ++i) places[static_cast<size_t>(i)] = placement_in(team, i).place;
  if (places == team.shown) return false;
  team.shown = std::move(places);
  return true;
}

// OMP_DISPLAY_AFFINITY: all members, where one's place has changed; else who comes from a region of another kind.
[[gnu::noinline]] void tell_affinity(const Member& member) {
  Thread& thread = *member.thread;
  const Team& team = *member.team;
  if (!team.shows && thread.shown_level == team.level && thread.shown_threads == team.n) return;
  thread.shown_level = team.level;
  thread.shown_threads = team.n;
  display_affinity(&member);
}

// A region's threads begin with the floating-point control words of its opener; what they change is their own. Those that somebody has are asked for
// some time before they are looked at: it takes long until they are in memory.
class FpHere {
 public:
  FpHere() { rt::fp_put(now_); }
  uint32_t word() const { return (now_.mxcsr & ~0x3fu) | uint32_t{now_.x87} << 16; }
  void begin(const Team& team) const {
    if (__builtin_expect(word() == team.fp, 1)) return;
    rt::fp_restore({.mxcsr = team.fp & 0xffff, .x87 = static_cast<uint16_t>(team.fp >> 16)});
  }

 private:
  rt::FpEnvironment now_;
};

void begin_as_member(Member& member, const Order& order) {
  member.number = order.number;
  implicit_task_begin(member);
  member.singles = 0;
  member.barriers = 0;
  member.static_turn = 0;
  const uint32_t flags = order.flags;
  member.share = (flags & Order::kWithLoop) == 0 ? member.head : member.head->next.load(std::memory_order_acquire);
  if (__builtin_expect((flags & Order::kSettles) != 0, 0)) settle_member(member);
  if (__builtin_expect((flags & Order::kParts) != 0, 0)) keep_in_part(member);
  if (__builtin_expect((flags & Order::kShows) != 0, 0)) tell_affinity(member);
  if (tool::there() && member.team->level > 0) tool::implicit_task_begins(member);
}

// All tasks that come of the member's implicit task are done, also those that it has not waited for.
void finish_tasks(Member& member) {
  if (__builtin_expect(tasks_are_done(member.implicit), 1)) return;
  wait_until(member, Work::kAny, [&member] { return tasks_are_done(member.implicit); });
}

// Members tell members, so that no one has to tell them all: where they sleep each costs a system call.
constexpr int kFanOut = 15;

// The children of member `num` in the tree are told that a region has begun. All of them first, and then one fence for all: the cache
// lines travel at the same time.
void tell_children(Team& team, const Order& order, int num) {
  const int first = num * kFanOut + 1, last = std::min(first + kFanOut, static_cast<int>(order.n));
  if (first >= last) return;
  for (int i = first; i < last; ++i) {
    Thread& thread = *team.members[i].thread;
    thread.order = order;
    thread.go.store(thread.go.load(std::memory_order_relaxed) + 1, std::memory_order_release);
  }
  std::atomic_thread_fence(std::memory_order_seq_cst);  // W2 of wait.hpp
  for (int i = first; i < last; ++i) wake(*team.members[i].thread);
}

void tell_end_of_team(Thread& thread) {
  thread.order = {};
  // seq_cst: W2 of wait.hpp.
  thread.go.store(thread.go.load(std::memory_order_relaxed) + 1, std::memory_order_seq_cst);
  wake(thread);
}

// What a thread of ours does: region after region, until its team is destroyed. It has been told of the first one.
void thread_main(void* arg) {
  Member& member = *static_cast<Member*>(arg);
  Thread& thread = *member.thread;
  thread.unit = weft_self();
  thread_is(&thread);
  thread.member = &member;
  Team& team = *member.team;
  bool joins = false;  // it is at the end of a region, as a tool sees it
  if (tool::there()) tool::thread_begins(thread, ompt_thread_worker);
  while (true) {
    // Acquire, pairs with the releases above: the order, and the team as it has been prepared.
    wait_until(member, Work::kIdle,
               [&] { return thread.go.load(std::memory_order_acquire) != member.region; }, First::kNearby);
    member.region = thread.go.load(std::memory_order_acquire);
    if (__builtin_expect(joins, 0)) {
      tool::join_ends(member);
      tool::implicit_task_ends(member);
      joins = false;
    }
    const Order& order = thread.order;
    if (order.run == nullptr) break;
    const FpHere fp;
    tell_children(team, order, member.num);
    begin_as_member(member, order);
    if (thread.has_identity) fp.begin(team);
    order.run(member, order);
    if (tool::there()) {
      tool::join_begins(member);
      joins = true;
    }
    finish_tasks(member);
    share_leave_last(member);
    implicit_task_end(member);
    Thread* opener = order.opener;
    const uint32_t others = order.n - 1;
    const uint32_t ended_before = order.ended_before;
    look_nearby(member);
    const int waits_at = where_to_wait(member);
    // The last use of what is the region's: the next one may begin at once. Pairs with the acquire in region_end().
    const auto num = static_cast<uint32_t>(member.num);
    if (gather(team.ended, ended_before, team.groups, &Group::ended, num - 1, others)) wake(*opener);
    if (__builtin_expect(waits_at >= 0, 0)) wait_there(waits_at);
  }
  if (member.inner != nullptr) team_destroy(member.inner);
  queue_destroy(member.queue);
  if (tool::there()) tool::thread_ends(thread);
  thread_is_no_more(&thread);
  team_let_go(team);
}

// That it has places for n threads. Outside of its regions.
void team_grow(Team& team, int n) {
  const int before = team.members.size();
  team.members.grow(n);
  const int size = team.members.size();
  team.at = std::make_unique<std::atomic<uint16_t>[]>(static_cast<size_t>(size));
  team.groups = std::make_unique<Group[]>(groups_of(static_cast<uint32_t>(size)));
  Share* head = before == 0 ? share_head_create() : team.members[0].head;
  for (int i = before; i < size; ++i) {
    Member& member = team.members[i];
    member.team = &team;
    member.num = i;
    member.head = head;
  }
}

// How many places have a thread, up to n, after those that had none have got one, as far as it goes. 0 has the opener.
int fill_places(Team& team, int n, bool outermost) {
  int have = 1;
  while (have < n && team.members[have].thread != nullptr) ++have;
  ThreadsForeseen foreseen(n - have);
  for (; have < n; ++have) {
    Member& member = team.members[have];
    foreseen.one_begins();
    if (!thread_start(member, &thread_main, outermost)) break;
    team.members[0].thread->stats.add(Stat::kThreads);
  }
  return have;
}

// A region of n threads begins. `started`: how many threads its opener had started before.
void count_region(Team& team, const Member& opener, int n, uint64_t started) {
  Stats& stats = opener.thread->stats;
  stats.add(n > 1 ? Stat::kRegions : Stat::kSerialRegions);
  if (n > 1 && stats.of(Stat::kThreads) == started) stats.add(Stat::kHotRegions);
  if (__builtin_expect(stats_wanted, 0)) team.began = rt::now_ns();
}

// Inside of another region its opener is counted there.
void count_time(const Team& team) {
  const auto threads = static_cast<uint64_t>(team.active_level > 1 ? team.n - 1 : team.n);
  team.members[0].thread->stats.add(Stat::kRegionTime, threads * (rt::now_ns() - team.began));
}

// The team for n threads. It keeps those that it has, with their numbers and what is thread-local to them; those that the region does not
// need wait on.
Team& team_for(Member& opener, int n) {
  if (opener.inner == nullptr) {
    opener.inner = new Team;
    opener.inner->n = 0;
  }
  Team& team = *opener.inner;
  if (__builtin_expect(team.members.size() < n, 0)) team_grow(team, n);
  return team;
}

// Members that are not in the next region must not run its tasks: afterwards none does.
void leave_out(Team& team, int n) {
  const int before = team.places.load(std::memory_order_relaxed);
  if (before == n) return;
  team.places.store(n, std::memory_order_seq_cst);  // pairs with the store in run_one(): it sees this, or we see that
  for (int i = n; i < before; ++i) {
    const Thread& thread = *team.members[i].thread;
    while (thread.helping.load(std::memory_order_seq_cst)) weft_yield();  // it only looks: tasks there are none
  }
}

// What others look at is not written where it stays the same: each would have to get it again.
template <class T>
void change(std::atomic<T>& word, T value) {
  if (word.load(std::memory_order_relaxed) != value) word.store(value, std::memory_order_relaxed);
}
template <class T>
void change(T& word, const T& value) {
  if (!(word == value)) word = value;
}

void describe(Team& team, Member& opener, int n, bool active, const FpHere& fp) {
  const Team& outer = *opener.team;
  leave_out(team, n);
  std::atomic_ref(team.number).store(team.number + 1, std::memory_order_relaxed);
  change(team.n, n);
  change(team.fp, fp.word());
  change(team.outer, opener.team);
  change(team.opener, &opener);
  change(team.level, outer.level + 1);
  change(team.active_level, outer.active_level + (active ? 1 : 0));
  const bool outermost = team.active_level == 1;
  change(team.crowded, outermost && is_crowd(*opener.thread, n));
  change(team.part, outermost ? opener.thread->part : Part{});
  const int workers = team.part.any() ? team.part.count : worker_count();
  change(team.rounds, rounds_of_team(n, workers, team.active_level));
  change(team.pause_offers, pause_offers_of_team(team, outermost));
  change(team.pushers_fence, n > workers);
  change(team.league_num, outer.league_num);
  change(team.league_size, outer.league_size);
  change(team.in_league, outer.in_league);
  change(team.contention, outer.contention);
  change(team.icvs, icvs_inside(icvs_of(opener), team.level));
  const std::span<const int> inner = outer.inner_threads.size() > 1 ? outer.inner_threads.subspan(1) : outer.inner_threads;
  if (inner.data() != team.inner_threads.data() || inner.size() != team.inner_threads.size()) team.inner_threads = inner;
  change(team.arrived, 0u);
  change(team.phase, 0u);
  change(team.singles, 0u);
  change(team.cancelled, false);
  change(team.gnu_cancelled, 0u);
  change(team.has_tasks, false);
  change(team.shows, false);
  team.members[0].head->next.store(nullptr, std::memory_order_relaxed);
}

// Outside of regions the opener is all that runs of its initial thread's.
void add_busy(Contention& contention, const Member& opener, int n) {
  if (opener.team->level == 0) {
    contention.busy.store(contention.busy.load(std::memory_order_relaxed) + n, std::memory_order_relaxed);
  } else {
    contention.busy.fetch_add(n, std::memory_order_relaxed);
  }
}

// As many of n threads, of which the opener is one, as the limit leaves; others may open regions at the same time.
int reserve(Contention& contention, const Member& opener, int n) {
  const int limit = icvs_of(opener).thread_limit;
  if (limit <= 0 || limit == kNoThreadLimit) {
    add_busy(contention, opener, n - 1);
    return n;
  }
  int busy = contention.busy.load(std::memory_order_relaxed);
  int more;
  do {
    more = std::min(n - 1, std::max(limit - busy, 0));
  } while (!contention.busy.compare_exchange_weak(busy, busy + more, std::memory_order_relaxed));
  return more + 1;
}

// How many threads are wanted, as a tool is told. `by_program`: who opens it calls its code itself.
void tell_begin(Team& team, Member& opener, const RegionWish& wish, bool by_program) {
  const int flags = ompt_parallel_team | (by_program ? ompt_parallel_invoker_program : ompt_parallel_invoker_runtime);
  tool::region_begins(team, opener, wish.threads > 0 ? wish.threads : icvs_of(opener).nthreads, flags);
}

// A region of n threads begins, whose team has its part. Whether its members have to look where they are to run.
bool part_changes(Team& team, int n) {
  if (team.part.any()) {
    team.in_parts = std::max(team.in_parts, n);
    return true;
  }
  if (__builtin_expect(team.in_parts == 0, 1)) return false;
  if (n >= team.in_parts) team.in_parts = 0;
  return true;
}

uint8_t flags_of(const RegionWish& wish, Team& team, int n) {
  const Device& machine = device();
  return static_cast<uint8_t>((wish.loop != nullptr ? Order::kWithLoop : 0) | (machine.places.empty() ? 0 : Order::kSettles) |
                              (machine.display_affinity ? Order::kShows : 0) | (part_changes(team, n) ? Order::kParts : 0));
}

void begin(const RegionWish& wish, int n, const Body& body, bool by_program) {
  const FpHere fp;
  Thread& thread = this_thread();
  Member& opener = *thread.member;
  Contention& contention = *opener.team->contention;
  const uint64_t started = thread.stats.of(Stat::kThreads);
  if (n > 1) n = reserve(contention, opener, n);
  Team& team = team_for(opener, n);
  Member& first = team.members[0];
  first.thread = &thread;
  first.outer = &opener;
  if (tool::there()) tell_begin(team, opener, wish, by_program);
  if (n > 1) {
    const int there = fill_places(team, n, opener.team->active_level == 0);
    if (there < n) add_busy(contention, opener, there - n);
    n = there;
  }
  describe(team, opener, n, n > 1, fp);
  count_region(team, opener, n, started);
  if (__builtin_expect(wish.inner_threads != nullptr, 0)) {
    team.own_inner_threads = *wish.inner_threads;
    team.inner_threads = team.own_inner_threads;
  }
  if (__builtin_expect(!team.inner_threads.empty(), 0)) team.icvs.nthreads = team.inner_threads[0];
  change(team.gnu, wish.gnu);
  const Bind bind = icvs_of(opener).bind;
  change(team.bind, wish.bind != 0 && bind != Bind::kFalse ? static_cast<Bind>(wish.bind) : bind);
  if (__builtin_expect(wish.bind != 0 && wish.bind_lasts, 0) && !list_says_bind(team.level)) team.icvs.bind = team.bind;
  if (__builtin_expect(device().display_affinity, 0)) team.shows = places_changed(team);
  if (wish.loop != nullptr) {
    first.share = first.head;
    implicit_task_begin(first);
    thread.member = &first;
    loop_begin(first, *wish.loop);
  }
  thread.member = &first;
  Order order{body};
  order.number = team.number;
  order.ended_before = team.ended.load(std::memory_order_relaxed);
  order.flags = flags_of(wish, team, n);
  order.n = static_cast<uint32_t>(n);
  order.opener = &thread;
  first.ended_before = order.ended_before;
  begin_as_member(first, order);
  tell_children(team, order, 0);
}

}  // namespace

int threads_for(const Member& member, int wish) {
  const Icvs& icvs = icvs_of(member);
  const Team& team = *member.team;
  if (wish == 1 || team.active_level >= icvs.max_active_levels) return 1;
  int n = wish > 0 ? wish : icvs.nthreads;
  if (icvs.dynamic && n > device().procs) n = device().procs;
  return std::clamp(n, 1, kMostThreads);
}

void region_begin(const RegionWish& wish, const Body& body) {
  begin(wish, threads_for(this_member(), wish.threads), body, true);
}

void region_begin_serial() { begin({.threads = 1}, 1, {}, true); }

namespace {

void tell_end(Member& first) {
  if (first.team->level == 0) {
    tool::initial_task_ends(first, first.team->league_num);
  } else {
    tool::join_ends(first);
    tool::implicit_task_ends(first);
  }
}

}  // namespace

void region_end() {
  Thread& thread = this_thread();
  Member& first = *thread.member;
  Team& team = *first.team;
  if (tool::there()) tool::join_begins(first);
  finish_tasks(first);
  const auto others = static_cast<uint32_t>(team.n - 1);
  if (others != 0) {
    // Acquire, pairs with the addition in thread_main().
    const uint32_t all = first.ended_before + gathered(others);
    look_nearby(first);
    wait_until(first, Work::kAny, [&team, all] { return team.ended.load(std::memory_order_acquire) == all; }, First::kNearby);
    add_busy(*team.contention, *first.outer, 1 - team.n);
    if (__builtin_expect(stats_wanted, 0)) count_time(team);
  }
  share_leave_last(first);
  if (__builtin_expect(team.cancelled.load(std::memory_order_relaxed), 0)) {
    shares_forget(team);
    // Of the last barrier some may have gone away.
    for (uint32_t i = 0; i < groups_of(static_cast<uint32_t>(team.n)); ++i) {
      team.groups[i].arrived.store(0, std::memory_order_relaxed);
    }
  }
  if (tool::there()) tell_end(first);
  implicit_task_end(first);
  thread.member = first.outer;
  if (tool::there() && team.level > 0) tool::region_ends(team, *first.outer);
}

int parallel(const RegionWish& wish, const Body& body) {
  begin(wish, threads_for(this_member(), wish.threads), body, false);
  Member& first = this_member();
  const int n = first.team->n;
  body.run(first, body);
  region_end();
  return n;
}

void league(int teams, int limit, void (*body)(void* arg), void* arg) {
  if (tool::there()) {
    constexpr int kFlags = ompt_parallel_league | ompt_parallel_invoker_runtime;
    tool::region_begins(team_for(this_member(), 1), this_member(), teams, kFlags);
  }
  for (int i = 0; i < teams; ++i) {
    Thread& thread = this_thread();
    Member& opener = *thread.member;
    Contention contention;
    Team& team = team_for(opener, 1);
    Member& first = team.members[0];
    first.thread = &thread;
    first.outer = &opener;
    describe(team, opener, 1, false, FpHere());
    team.level = 0;
    team.active_level = 0;
    team.league_num = i;
    team.league_size = teams;
    team.in_league = true;
    team.contention = &contention;
    team.icvs = icvs_of(opener);
    if (limit > 0) team.icvs.thread_limit = limit;
    settle_initial(first);
    thread.member = &first;
    Order order;
    order.number = team.number;
    if (device().display_affinity) order.flags = Order::kShows;
    begin_as_member(first, order);
    if (tool::there()) tool::initial_task_begins(first, teams, i);
    body(arg);
    region_end();
  }
  if (tool::there()) tool::region_ends(*this_member().inner, this_member());
  if (!device().places.empty()) keep_at_place(this_member(), 0);
}

bool cancel_region(Member& member) {
  if (!device().cancel) return false;
  member.team->cancelled.store(true, std::memory_order_seq_cst);
  wake_all(*member.team);
  return true;
}

bool release_teams(bool) {
  Thread& thread = this_thread();
  Member& member = *thread.member;
  if (member.outer != nullptr) return false;
  if (member.inner != nullptr) team_destroy(member.inner);
  member.inner = nullptr;
  return true;
}

void team_destroy(Team* team) {
  int threads = 0;
  const int size = team->members.size();
  for (int i = 1; i < size; ++i) threads += team->members[i].thread != nullptr ? 1 : 0;
  if (tool::there()) tool::threads_will_end(threads);
  team->ended.store(0, std::memory_order_relaxed);
  team->n = threads + 1;  // of whom each lets go of it, with us
  Member& first = team->members[0];
  if (first.inner != nullptr) team_destroy(first.inner);
  first.inner = nullptr;
  queue_destroy(first.queue);
  for (int i = 1; i < size; ++i) {
    if (Thread* thread = team->members[i].thread) tell_end_of_team(*thread);
  }
  team_let_go(*team);
}

void team_let_go(Team& team) {
  const auto all = static_cast<uint32_t>(team.n);
  // Both: whoever frees it has seen everybody else's last use.
  if (team.ended.fetch_add(1, std::memory_order_acq_rel) + 1 != all) return;
  share_head_destroy(team.members[0].head);
  for (int i = 0; i < team.members.size(); ++i) calls_release(nullptr, team.members[i].implicit);
  delete &team;
}

}  // namespace weft::omp
