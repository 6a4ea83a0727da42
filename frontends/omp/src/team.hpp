// team.hpp: threads, teams, and the members of teams: what there is, and who writes what.
//
//   Thread   an OpenMP thread as the program sees it: with an identity (thread-local storage), and a number that stays.
//            Either a ULT of ours, which runs one region after the other (region.cpp), or a *root*: whatever unit or kernel
//            thread of the program's has called us. It runs on its own stack all the time, whatever task it is in.
//   Team     of a parallel region, and kept for the next one that its member 0 opens: a *hot* team.
//   Member   a thread's place in a team. Member 0's thread is the one that has encountered the region, which has a place in the
//            team outside as well; the others' threads belong to their places for as long as those live.
//
// "own": the thread itself only. A thread is one thing at a time, on one stack; so what is its own needs no lock and no atomic,
// although kernel threads and workers change below it.
#pragma once

#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "gather.hpp"
#include "icv.hpp"
#include "known.hpp"
#include "os/patience.hpp"
#include "part.hpp"
#include "stats.hpp"
#include "task.hpp"
#include "weft/weft.h"

namespace weft::omp {

struct Member;
struct Share;
struct Team;

inline constexpr int kMostThreadsLog2 = 17;
inline constexpr int kMostThreads = 1 << kMostThreadsLog2;

// The threads that an initial thread has, with itself: what thread-limit-var is about.
struct Contention {
  std::atomic<int> busy{1};
};

// Pieces of memory that are free, of a thread's; see memory.hpp.
struct FreeBlock {
  FreeBlock* next;
};
struct Stock {
  FreeBlock* first = nullptr;
  unsigned count = 0;          // from there on: a magazine at most
  FreeBlock* spare = nullptr;  // a full magazine, or null
};
inline constexpr unsigned kBlockClasses = 6;  // 64 << class bytes

// Tasks of another thread's that this one has run, and not told about yet: task_end.hpp.
struct Untold {
  Task* parent = nullptr;
  TaskGroup* group = nullptr;  // null: they are counted in none
  uint32_t ends = 0;
};

// What the members of a region call, with words for what they want: memory of the opener's would come after these.
struct Body {
  using Run = void (*)(Member& member, const Body& body);
  Body() = default;  // no aggregate: gcc 11 leaves a gap behind one
  Body(Run r, void* f, void* s, int n = 0) : run(r), first(f), second(s), count(n) {}

  Run run = nullptr;  // null, in an order: the team ends
  void* first = nullptr;
  void* second = nullptr;
  int count = 0;
};

// What a thread is told of a region, by whoever tells it: all that it looks at of others' until the region's end, if that has no code.
struct Order : Body {
  static constexpr uint32_t kWithLoop = 1;  // members find themselves in that construct
  static constexpr uint32_t kSettles = 2;   // they are to find their places: places.hpp
  static constexpr uint32_t kShows = 4;     // they may have to tell which those are: OMP_DISPLAY_AFFINITY
  static constexpr uint32_t kParts = 8;     // they are to look which workers they keep to: part.hpp

  uint32_t number = 0;        // Team::number
  uint32_t ended_before = 0;  // Team::ended, as it was
  uint32_t flags : 8 = 0;
  uint32_t n : 24 = 0;
  Thread* opener = nullptr;
};
static_assert(sizeof(Order) == 48);

struct alignas(64) Thread {
  // constant
  weft_unit_t unit = nullptr;  // null: a kernel thread of the program's
  int gtid = 0;                // place in the table of threads; both kinds of code may keep it
  // own. First what each region, and each wait, looks at.
  unsigned no_offers = 0;      // wait.hpp: in so many of its waits to come it lets nobody go first
  unsigned no_clock = 0;       // and in so many of those in which it does it does not look for how long
  bool runs_next = false;      // it is at the end of a task, and runs one that becomes ready by that at once
  bool looking_pays = true;    // wait.hpp: its last sleep was as short as what it takes to sleep
  std::atomic<bool> helping{false};  // it waits for a region, and looks for tasks of the team's
  bool has_identity = false;   // constant: a ULT of ours, with an identity of its own
  Member* member = nullptr;    // in the innermost team
  Untold untold;
  Task* next = nullptr;        // what runs_next says
  Stock stocks[kBlockClasses];
  uint64_t random = 0;
  int shown_level = -1;        // OMP_DISPLAY_AFFINITY: the region of which it has told last
  int shown_threads = 0;
  // pushed by the LLVM layer, for the next region only; 0, -1: nothing
  int push_threads = 0;
  int push_bind = 0;
  int push_teams = 0;
  int push_limit = 0;
  std::vector<int> push_inner;  // num_threads() with a list: the numbers behind the first
  void* llvm = nullptr;  // the LLVM layer's: threadprivate copies and the like
  void* gnu = nullptr;   // the GNU layer's
  Stats stats;
  weft_pool_t kept = nullptr;  // where it stays: keep.hpp; null: anywhere
  int kept_at = -1;            // the place
  ThreadSeen seen = {};        // a tool's
  uint64_t window = 0;         // crowd.hpp
  uint64_t parting = 0;        // when it got its part
  Part part;
  rt::Patience patience;       // wait.hpp
  // One cache line, on which the thread looks while it waits: so all of it comes at once. any thread: see wait.hpp
  alignas(64) std::atomic<uint32_t> parked{0};
  // whoever tells it of a region
  std::atomic<uint64_t> go{0};  // the last region of its place that has begun
  Order order;                  // of that; until it has ended
};

struct alignas(64) Member {
  // constant
  Team* team = nullptr;
  int num = 0;
  // Place i > 0: its thread, which is made when it is first needed. Place 0: whoever has opened the region.
  Thread* thread = nullptr;
  // own. First what those read who run tasks of its tasks.
  Task implicit;
  // What each region, and each wait, looks at.
  Task* task = nullptr;     // what it runs: `implicit`, or an explicit task
  Share* share = nullptr;   // the worksharing construct that it is in, or was in last
  Share* head = nullptr;    // constant: what stands before the region's first one
  uint64_t region = 0;      // Thread::go of the last region that it took part in
  uint32_t number = 0;      // Team::number of that
  uint32_t singles = 0;     // single constructs met in this region
  uint32_t barriers = 0;    // barriers met in this region
  unsigned nearby_for = 0;  // nearby.hpp: in so many of its waits to come it does not look
  weft_unit_t nearby = nullptr;  // the thread of the next member at the same worker, as it was when last looked for; null: none
  uint64_t static_turn = 0;   // of a loop with a static schedule: how many pieces it has had
  // of a loop: the iterations that it has now
  uint64_t chunk_first = 0;
  uint64_t chunk_last = 0;    // behind the last one
  // an ABI layer's, of the loop that it is in: the program's numbers are base + iteration * step
  uint64_t loop_base = 0;
  uint64_t loop_step = 1;
  uint64_t loop_unit = 1;     // one of our iterations stands for so many of the program's
  uint64_t loop_trip = 0;     // iterations of the program's
  bool loop_open = false;     // it has begun, and not been left
  uint8_t reduction = 0;      // how the LLVM layer has it combine
  void* doacross = nullptr;   // the LLVM layer's: its loops' bounds
  Team* inner = nullptr;    // the team of the last region that it has opened; kept
  Member* outer = nullptr;  // member 0: its thread's place outside
  uint32_t ended_before = 0;  // member 0: Order::ended_before
  int place = -1;           // place-num; -1: not bound
  int worker = -1;          // where its thread has been started, to stay there; -1: nowhere
  Part part;                // the one to which its thread keeps
  // task_best_at_once()
  uint32_t tasks_made = 0;
  uint32_t head_seen = 0;
  uint32_t eager_until = 0;   // tasks_made
  bool tasks_are_short = false;
  uint64_t tasks_since = 0;   // ns
  MemberSeen seen;          // a tool's, where there is one
  Queue queue;              // of its tasks: parts for the owner and for thieves
};

// The members of a team, by number. There come more where a larger region begins; none moves, as threads wait in theirs. Parts: member
// 0, member 1, 2 and 3, 4 to 7, and so on.
class Members {
 public:
  Member& operator[](int num) { return at(num); }
  const Member& operator[](int num) const { return at(num); }
  // Places that there are: a power of two, or 0.
  int size() const { return size_; }
  // That there are at least n. Context: whoever opens the team's regions, outside of them.
  void grow(int n);

 private:
  static int first_of(unsigned part) { return static_cast<int>((1u << part) >> 1); }
  Member& at(int num) const {
    const auto part = static_cast<unsigned>(std::bit_width(static_cast<unsigned>(num)));
    return parts_[part][num - first_of(part)];
  }

  Member* parts_[kMostThreadsLog2 + 1] = {};
  int size_ = 0;
  std::vector<std::unique_ptr<Member[]>> owned_;
};

// A thread that lets others go first, before it sleeps, and finds that nobody waits for its worker, pauses instead: for so many of its offers such a
// pause counts (wait.hpp).
inline constexpr unsigned kPauseOffers = 32;
inline constexpr unsigned kPauseOffersOutermost = 4;

// A region's number of levels etc. as omp_get_... tell them.
struct alignas(64) Team {
  // member 0, before the region begins, while nobody else is in it; what stays the same from region to region is not written, since
  // members look at it. First, on one cache line, what they look at most.
  int n = 1;               // how many take part in this region
  uint32_t fp = 0;         // with which floating-point control words they begin: see FpHere
  void* gnu = nullptr;     // the GNU layer's: task reductions of the region
  Bind bind = Bind::kFalse;  // of this region: the clause's, or the opener's bind-var
  bool shows = false;      // OMP_DISPLAY_AFFINITY: its members have other places than in its region before
  bool in_league = false;  // inside a teams construct
  Team* outer = nullptr;   // null: an initial task's
  Member* opener = nullptr;  // the place outside of who has opened it; null: an initial task's
  int level = 0;           // omp_get_level()
  int active_level = 0;    // omp_get_active_level()
  int league_num = 0;      // omp_get_team_num()
  int league_size = 1;     // omp_get_num_teams()
  Contention* contention = nullptr;
  Icvs icvs;               // of the implicit tasks, until they change theirs
  // nthreads-var of the levels from here on, by num_threads() with a list, of this region or of one outside; empty: none
  std::span<const int> inner_threads;
  std::vector<int> own_inner_threads;  // where that is this region's
  std::vector<int> shown;  // the places of `shows`
  Part part;               // of its workers, of its opener's
  int in_parts = 0;        // members up to this one may keep to a part; member 0's
  std::unique_ptr<Group[]> groups;  // of its members: gather.hpp
  // By member, who writes it: the number of the worker where it was when it looked last, and one; 0: it has not, or is at none.
  std::unique_ptr<std::atomic<uint16_t>[]> at;
  uint64_t began = 0;      // where statistics are wanted: ns
  TeamSeen seen;           // a tool's, where there is one
  // Whoever has seen n, or `places`, sees so many.
  alignas(64) Members members;
  // any member
  alignas(64) std::atomic<uint32_t> arrived{0};  // at the barrier of this phase
  alignas(64) std::atomic<uint32_t> ended{0};    // members i > 0 that have ended regions, with all their tasks; see gather.hpp
  uint32_t number = 0;  // of the region, among the team's: member 0; atomic_ref, as those that wait for it look at it too
  // What those look at that wait: seldom changed.
  alignas(64) std::atomic<uint32_t> phase{0};    // barriers that are over
  std::atomic<unsigned> rounds{0};               // see rounds_before_sleep(); member 0, before the region begins
  std::atomic<unsigned> pause_offers{kPauseOffers};  // the same; see offer_worker()
  std::atomic<bool> crowded{false};              // crowd.hpp; member 0, before the region begins
  std::atomic<int> places{1};                    // n, for those who wait for a region: member 0, before it begins
  // It has more threads than workers: those that wait sleep, and often. wait.hpp, W2; member 0, before the region begins.
  std::atomic<bool> pushers_fence{false};
  std::atomic<uint32_t> priority_count{0};
  std::atomic<bool> has_tasks{false};            // one has been queued in this region
  std::atomic<bool> hungry{false};               // somebody has looked for tasks in vain, since this was last taken back
  std::atomic<bool> cancelled{false};            // cancel parallel
  alignas(64) std::atomic<int> parked{0};        // of its members' threads: about how many
  std::atomic<uint32_t> singles{0};              // single constructs that somebody has taken
  // The GNU layer's: Member::barriers + 1 of those whose loop, or sections, has been cancelled; 0: none.
  std::atomic<uint32_t> gnu_cancelled{0};
  std::atomic<void*> copyprivate{nullptr};
  // tasks with a priority, highest first
  std::atomic_flag priority_lock = ATOMIC_FLAG_INIT;
  Task* priority_list = nullptr;
};

// ---- the calling thread. All of these start the runtime, or make the caller a root, where that is needed.

[[gnu::always_inline]] inline Thread& this_thread() {
  const weft_unit_t unit = front::self();
  Thread* thread = known_thread(unit);
  return __builtin_expect(thread != nullptr, 1) ? *thread : find_this_thread(unit);
}
inline Member& this_member() { return *this_thread().member; }
// Null: the caller has not met us yet.
Thread* this_thread_if_any();
// By its number. Null: the main thread's, which has not met us yet.
inline constexpr int kThreadsPage = 1 << 10;
extern std::atomic<std::atomic<Thread*>*> thread_table[kMostThreads / kThreadsPage];
inline Thread* thread_at(int gtid) {
  const auto n = static_cast<unsigned>(gtid);
  return thread_table[n / kThreadsPage].load(std::memory_order_acquire)[n % kThreadsPage].load(std::memory_order_acquire);
}
// The caller, by its number, as code of clang's keeps it.
inline Thread& thread_of(int gtid) {
  Thread* thread = thread_at(gtid);
  return __builtin_expect(thread != nullptr, 1) ? *thread : this_thread();
}
// The caller's, for code that asks for it long before it opens a region, if it does: clang's does where a function begins that has one. The
// main thread is told its own without being made ours: what the program sets until then (signal masks, handlers) is in time.
inline constexpr int kNumberOfMain = 0;
int find_this_number();
[[gnu::always_inline]] inline int this_number() {
  const Thread* thread = known_thread(front::self());
  return __builtin_expect(thread != nullptr, 1) ? thread->gtid : find_this_number();
}
// How many numbers there have been: an upper limit of gtids that are in use.
int threads_known();

// The ICVs of the task that runs, to be changed: its own from now on.
Icvs& own_icvs(Member& member);
inline const Icvs& icvs_of(const Member& member) { return *member.task->icvs; }

}  // namespace weft::omp
