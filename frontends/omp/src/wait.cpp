#include "wait.hpp"

#include <algorithm>
#include <atomic>

#include "crowd.hpp"
#include "front/front.hpp"
#include "home.hpp"
#include "os/futex.hpp"
#include "runtime.hpp"
#include "task_end.hpp"

namespace weft::omp {

namespace {

constexpr int64_t kRoundsPerMicrosecond = 30;  // of a pause instruction, some 35 ns
constexpr int64_t kHybridMicroseconds = 20;    // what it takes to sleep and to be woken
constexpr unsigned kActiveRounds = 200'000'000;

// How long the program wants a thread to look; -1: it has not said so, or it does not count.
int64_t microseconds_said() {
  const int64_t said = std::atomic_ref(device().spin_us).load(std::memory_order_relaxed);
  return said > kHybridMicroseconds && has_several_roots() ? -1 : said;
}

}  // namespace

unsigned rounds_of_team(int n, int workers, int active_level) {
  const Device& d = device();
  // With more threads than workers somebody else can use this one.
  if (d.wait == WaitPolicy::kPassive || n > workers || active_level > 1) return 0;
  if (d.wait == WaitPolicy::kActive) return kActiveRounds;
  const int64_t said = microseconds_said();
  const int64_t most = kActiveRounds / kRoundsPerMicrosecond;
  return static_cast<unsigned>(std::min(said >= 0 ? said : kHybridMicroseconds, most) * kRoundsPerMicrosecond);
}

unsigned pause_offers_of_team(const Team& team, bool outermost) {
  const bool longer = outermost && !team.crowded.load(std::memory_order_relaxed) && device().wait != WaitPolicy::kPassive;
  return longer ? kPauseOffersOutermost : kPauseOffers;
}

unsigned rounds_before_sleep(const Member& member) {
  const unsigned rounds = member.team->rounds.load(std::memory_order_relaxed);
  return is_crowded(member) && !member.thread->looking_pays ? 0 : rounds;
}

bool nobody_says_how_to_wait() {
  return device().wait == WaitPolicy::kHybrid && microseconds_said() < 0;
}

void workers_look_on(bool do_so) {
  if (device().wait != WaitPolicy::kHybrid) return;
  front::set_idle_patience(do_so && nobody_says_how_to_wait() ? kPatience : 0);
  front::set_idle_sleeps_at_once(!do_so);
}

bool look_on(const Member& member, uint64_t* since) {
  Thread& thread = *member.thread;
  if (!thread.patience.any() || is_crowded(member) || device().wait != WaitPolicy::kHybrid) return false;
  go_home(true);  // two that look on at one CPU never sleep there
  return thread.patience.look_on(since, kPatience);
}

void slept(const Member& member, uint64_t since) {
  Thread& thread = *member.thread;
  if (microseconds_said() >= 0) return;
  const uint64_t now = rt::now_ns();
  thread.looking_pays = now - since < 2 * kHybridMicroseconds * 1000;
  thread.patience.slept(now - since, kPatience, now);
}

unsigned others_of_worker() {
  fulfill_late();
  return front::others_waiting();
}

unsigned offer_by_clock(const Member& member, unsigned others) {
  const uint64_t before = rt::now_ns();
  weft_yield();
  // Two workers that have come to one CPU sleep there too seldom to be moved by the kernel.
  if (!is_crowded(member)) go_home(false);
  if (rt::now_ns() - before >= kLongTurn) {
    member.thread->no_offers = kNoOffers;
    return 0;
  }
  member.thread->no_clock = kNoClock;
  return offers_after(kOffers, others);
}

Parking::Parking(Member& member, Work work) : member_(member) {
  const bool for_tasks = work == Work::kAny || work == Work::kIdle;
  // Release: Thread::unit, which a waker reads.
  member.thread->parked.store(for_tasks ? kParkedForTasks : kParkedForOwn, std::memory_order_release);
  member.team->parked.fetch_add(1, std::memory_order_seq_cst);
  // Who pushes a task has no fence between S1's other half and W3, unless the team's threads sleep all the time. What is read here
  // may be the last region's: whoever pushes in the next one has seen a fence since, of who has begun that (tell_children()).
  const bool others_fence = member.team->pushers_fence.load(std::memory_order_seq_cst);
  if (!others_fence && member.team->has_tasks.load(std::memory_order_seq_cst)) front::fence_everywhere();
  std::atomic_thread_fence(std::memory_order_seq_cst);  // S2, pairs with the seq_cst changes of W1, and loads of W3
}

bool Parking::cancel() {
  Thread& thread = *member_.thread;
  if (thread.parked.exchange(0, std::memory_order_acq_rel) == 0) {
    sleep();
    return true;
  }
  member_.team->parked.fetch_sub(1, std::memory_order_relaxed);
  return false;
}

void Parking::sleep() {
  Thread& thread = *member_.thread;
  thread.stats.add(Stat::kSleeps);
  if (thread.unit != nullptr) {
    // Whatever resumes it but us is the program's, who means a suspension of its own: it is put back.
    unsigned others = 0;
    weft_suspend();
    for (; thread.parked.load(std::memory_order_acquire) != 0; ++others) weft_suspend();
    if (others != 0) weft_resume(thread.unit);
    if (!is_crowded(member_)) go_home(true);
  } else {
    while (const uint32_t parked = thread.parked.load(std::memory_order_acquire)) {
      rt::futex_wait(thread.parked, parked);
    }
  }
  member_.team->parked.fetch_sub(1, std::memory_order_relaxed);
}

void wake_slow(Thread& thread) {
  const weft_unit_t unit = thread.unit;  // afterwards the thread may be gone
  if (thread.parked.exchange(0, std::memory_order_acq_rel) == 0) return;
  if (unit != nullptr) {
    weft_resume(unit);
  } else {
    rt::futex_wake(thread.parked, 1);
  }
}

void wake_all_slow(Team& team) {
  for (int i = 0; i < team.n; ++i) {
    if (Thread* thread = team.members[i].thread) wake(*thread);
  }
}

namespace {

bool wake_who_sleeps(Team& team, const Member& caller, uint32_t sleeps) {
  for (int i = 1; i < team.n; ++i) {
    Thread* thread = team.members[(caller.num + i) % team.n].thread;
    if (thread != nullptr && thread->parked.load(std::memory_order_acquire) == sleeps) {
      wake_slow(*thread);
      return true;
    }
  }
  return false;
}

// One that waits for what the caller's task has come of: nobody else that sleeps for its own may run what that one makes.
void wake_who_waits(const Member& caller) {
  for (const Task* task = caller.task; task->parent != nullptr; task = task->parent) {
    Thread& waits = *task->parent->member->thread;
    if (&waits != caller.thread && waits.parked.load(std::memory_order_acquire) == kParkedForOwn) return wake_slow(waits);
  }
}

}  // namespace

void wake_one(Team& team, const Member& caller) {
  // Who sleeps for its own may find that the task descends from what waits there: as good as nobody else.
  if (!wake_who_sleeps(team, caller, kParkedForTasks)) wake_who_sleeps(team, caller, kParkedForOwn);
}

void wake_for_task(const Member& member, uint32_t place) {
  // Pairs with the thieves' step: either we see that they have emptied the queue before, or they see the task.
  std::atomic_thread_fence(std::memory_order_seq_cst);
  if (member.queue.head.load(std::memory_order_seq_cst) != place) return;
  if (!wake_who_sleeps(*member.team, member, kParkedForTasks)) wake_who_waits(member);
}

void hand_on_search(const Member& member) {
  Team& team = *member.team;
  if (team.parked.load(std::memory_order_seq_cst) != 0 && may_find_work(member, Work::kAny)) wake_one(team, member);
}

}  // namespace weft::omp
