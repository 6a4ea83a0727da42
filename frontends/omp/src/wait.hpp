// wait.hpp: how a thread of a team waits: it runs tasks, looks again for a moment, then sleeps.
//
// Of a team with more threads than workers it does not look: others of the team wait for its worker. But before it sleeps, and
// before it asks what the others have queued, it lets those go first, a few times (where nobody waits there, it pauses instead,
// half a microsecond in all; so it does wherever it does not look). Most often what it waits for has come true
// meanwhile, and nobody has to be put to sleep and woken, nor reads what the others' workers write all the time. In all that takes
// as long as another one looks: by the number of those that wait for the worker, since to read the clock takes as long as a switch.
// In an outermost team that is no crowd the pause is four microseconds: workers have not all the same number of its threads, and where those of one
// have gone to sleep it takes so long to wake them that others sleep meanwhile, whom somebody has to wake, and so on (a barrier of 64 on 16
// CPUs took 70 to 90 us then, and 3 without).
// Where one of them has kept the worker for long, the next waits sleep at once: it is not waited for soon, and who is woken at the end of a barrier
// runs in the order of the numbers, which pipelines want.
//
//   sleeper                              waker
//   S1 parked = 1; team.parked + 1       W1 makes it true what the sleeper waits for
//   S2 full fence                        W2 full fence
//   S3 looks once more                   W3 looks at team.parked, or at parked
//   S4 still false: suspends             W4 whoever changes parked from 1 to 0 resumes it
//
// Of S3 and W3 one sees the other's store. A sleeper that finds it true at S3 takes `parked` back by the same exchange as W4;
// if a waker was first, its resume is on the way, and is waited for: so each resume meets one suspension.
//
// Spurious wakes are allowed: whoever waits looks again.
//
// Tasks. Who pushes one into an empty queue wakes one sleeper that may run it, and no more: that one *searches*. When it finds a
// task, or has no need to any more, it wakes the next one if there is still something to be found; so as many wake up as there is
// work for, and a thread that makes many tasks pays for one wake-up. Whenever a queue has tasks and somebody sleeps who could run
// them, somebody searches: a push into a queue that is not empty finds it so, since its sleepers look at all queues at S3. Who waits for
// a task's children may run but what descends from it: he is woken by whoever makes such a one, if nobody sleeps for any, and looks at
// S3 where those are that have taken the children.
#pragma once

#include <utility>

#include "arch/pause.hpp"
#include "nearby.hpp"
#include "os/clock.hpp"
#include "queue.hpp"
#include "task_end.hpp"
#include "team.hpp"

namespace weft::omp {

// What may be run meanwhile.
enum class Work : uint8_t {
  kNone,         // nothing: it is no scheduling point
  kDescendants,  // of the current task
  kAny,          // the team's
  kIdle,         // the same for a thread that waits for the next region, if it takes part in this one
};

// Runs a task, if there is one that may run here; before that, if the caller searches, it hands that on. Not everywhere: for descendants it
// looks where there is a trace of them. task.cpp.
bool run_one(Member& member, Work work, bool searching = false, bool everywhere = true);
// Whoever searches has found something, or does not need it any more.
void hand_on_search(const Member& member);
// A task has been pushed; it was the first one, if that was the place of the oldest.
void wake_for_task(const Member& member, uint32_t place);
// Whether run_one() might find one, in all places where one may be.
bool may_find_work(const Member& member, Work work);

// How long a thread looks before it sleeps: rounds of a pause instruction. In the hybrid policy that is what it takes to sleep and
// be woken. But a thread that has slept for less than a few milliseconds has slept in vain: others pay for its waking up, one
// after the other. The next time it looks on for so long, leaving the CPU to whoever else wants it; until it has looked in vain.
// In a crowd (crowd.hpp) nobody looks on, and only who has slept for a few tens of microseconds the last time looks at all.
unsigned rounds_before_sleep(const Member& member);
inline bool is_crowded(const Member& member) { return member.team->crowded.load(std::memory_order_relaxed); }
// Of n threads, on so many workers.
unsigned rounds_of_team(int n, int workers, int active_level);
// Neither OMP_WAIT_POLICY, nor KMP_BLOCKTIME and its like where that counts (crowd.hpp).
bool nobody_says_how_to_wait();
void workers_look_on(bool do_so);
// True: it looks on for that many rounds.
inline constexpr unsigned kLookOn = 64;
inline constexpr uint64_t kPatience = 5'000'000;  // ns
bool look_on(const Member& member, uint64_t* since);
void slept(const Member& member, uint64_t since);
// Asked now and then by whoever looks: how many others wait for the worker of the caller, so that it should not be kept from them.
unsigned others_of_worker();

// Thread::parked: what may wake it.
inline constexpr uint32_t kParkedForTasks = 1;  // also tasks that it may run
inline constexpr uint32_t kParkedForOwn = 2;    // only what it waits for

// So many switches go by before a thread that lets others go first sleeps: all that wait for the worker get their turns.
inline constexpr unsigned kOffers = 512;  // some 20 us
unsigned pause_offers_of_team(const Team& team, bool outermost);
// Longer than many who wait as well, shorter than the shortest slice of one who spins.
inline constexpr uint64_t kLongTurn = 30'000;  // ns
inline constexpr unsigned kNoOffers = 256;     // waits
inline constexpr unsigned kNoClock = 31;       // waits: to look takes as long as some offers

inline unsigned offers_of(const Member& member, unsigned rounds) {
  if (rounds != 0) return 0;
  if (member.thread->no_offers == 0) return kOffers;
  --member.thread->no_offers;
  return 0;
}

// Whom a thread lets go first at its first offer.
enum class First : uint8_t { kAnyone, kNearby };

// The first one, now and then; looks whether the worker is where it should be, as well. Returns how many are left.
unsigned offer_by_clock(const Member& member, unsigned others);

inline unsigned offers_after(unsigned offers, unsigned taken) { return offers > taken ? offers - taken : 0; }

inline unsigned offer_worker(const Member& member, unsigned offers) {
  const unsigned others = others_of_worker();
  if (others == 0) {
    rt::cpu_pause();
    return offers_after(offers, member.team->pause_offers.load(std::memory_order_relaxed));
  }
  if (offers == kOffers) {
    if (member.thread->no_clock == 0) return offer_by_clock(member, others);
    --member.thread->no_clock;
  }
  weft_yield();
  return offers_after(offers, others);
}

class Parking {
 public:
  Parking(Member& member, Work work);  // S1, S2
  bool cancel();                       // S3 found it true. Returns whether somebody has woken it all the same
  void sleep();                        // S4
 private:
  Member& member_;
};

void wake_slow(Thread& thread);  // W4
// W2 is the caller's.
inline void wake(Thread& thread) {
  if (__builtin_expect(thread.parked.load(std::memory_order_seq_cst) != 0, 0)) wake_slow(thread);
}
// All of the team that sleep. W2 is the caller's.
void wake_all_slow(Team& team);
inline void wake_all(Team& team) {
  if (__builtin_expect(team.parked.load(std::memory_order_seq_cst) != 0, 0)) wake_all_slow(team);
}
// One of them, other than the caller: that sleeps for tasks, or else for its own.
void wake_one(Team& team, const Member& caller);

template <class Done>
void wait_until(Member& member, Work work, Done done, First first = First::kAnyone) {
  unsigned rounds = 0;
  unsigned most = rounds_before_sleep(member);
  unsigned offers = offers_of(member, most);
  IdleTime idle;
  bool searching = false;
  uint64_t since = 0;  // it looks on, or sleeps, in a team that may look at all; 0: no
  while (!done()) {
    if (offers != 0 && (work == Work::kIdle || !queue_is_busy(member))) {
      tell_ends_before(*member.thread, nullptr);
      const bool nearby = std::exchange(first, First::kAnyone) == First::kNearby && go_nearby(member);
      if (!nearby) offers = offer_worker(member, offers);
      idle.looked();
      continue;
    }
    const bool everywhere = rounds % kLookOn == 0 || rounds + 1 >= most;  // before it sleeps
    if (work != Work::kNone && run_one(member, work, searching, everywhere)) {
      searching = false;
      rounds = 0;
      idle.ended(member, work);
      continue;
    }
    idle.looked();
    if (++rounds < most) {
      rt::cpu_pause();
      if (rounds % 32 == 0 && others_of_worker() != 0) most = 0;
      continue;
    }
    if (most != 0 && look_on(member, &since)) {
      most = rounds + kLookOn;
      continue;
    }
    offers = 0;  // from now on it may be the one that searches
    Parking parking(member, work);
    if (done() || (work != Work::kNone && may_find_work(member, work))) {
      if (parking.cancel()) searching = true;
    } else {
      since = most != 0 || is_crowded(member) ? rt::now_ns() : 0;
      parking.sleep();
      if (since != 0) slept(member, since);
      idle.looked();
      searching = true;
    }
    since = 0;
    rounds = 0;
    most = rounds_before_sleep(member);
  }
  tell_ends_before(*member.thread, nullptr);
  idle.ended(member, work);
  if (searching) hand_on_search(member);
}

}  // namespace weft::omp
