// thread.cpp: who the calling thread is (known.hpp), and the table of threads.
#include "team.hpp"

#include <pthread.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <functional>
#include <mutex>
#include <queue>
#include <utility>
#include <vector>

#include "crowd.hpp"
#include "icvs.hpp"
#include "keep.hpp"
#include "llvm/thread_end.hpp"
#include "memory.hpp"
#include "os/kernel_tid.hpp"
#include "region.hpp"
#include "runtime.hpp"
#include "task_end.hpp"
#include "thread.hpp"

namespace weft::omp {

constinit std::atomic<uint64_t> known_epoch{1};
namespace {
constinit std::atomic<Thread*> first_page[kThreadsPage] = {};
}
constinit std::atomic<std::atomic<Thread*>*> thread_table[kMostThreads / kThreadsPage] = {{first_page}};

}  // namespace weft::omp

extern "C" {
thread_local constinit weft::omp::Known weft_omp_known{nullptr, 0, nullptr};
}

namespace weft::omp {
namespace {

thread_local Thread* kernel_thread = nullptr;  // of one that runs no unit
// Of a ULT of ours with an identity of its own: which one it is, and who. Not in unit-local storage: that is allocated, and malloc()
// would have an arena for each of them, of 64 MiB of address space, although its program may never call it there.
thread_local constinit struct {
  weft_unit_t unit;
  Thread* thread;
} own_thread{nullptr, nullptr};

// ---- the table of threads

std::mutex table_lock;
int numbers_used = 1;      // 0 is the main thread's, which may know that before anybody has met us
bool main_is_met = false;
int forkers_number = -1;   // in a child: of who has forked, until it is met again, as the main thread; clang's programs remember theirs
// Numbers that were given back, the lowest first: tables of the program's are indexed with them.
using Numbers = std::priority_queue<int, std::vector<int>, std::greater<>>;
Numbers& numbers_free() {
  static auto* numbers = new Numbers;
  return *numbers;
}

int number_acquire(bool main) {
  if (main && forkers_number >= 0) return std::exchange(forkers_number, -1);
  if (main && !std::exchange(main_is_met, true)) return kNumberOfMain;
  if (Numbers& free = numbers_free(); !free.empty()) {
    const int number = free.top();
    free.pop();
    return number;
  }
  if (numbers_used == kMostThreads) return -1;
  const int page = numbers_used / kThreadsPage;
  if (thread_table[page].load(std::memory_order_relaxed) == nullptr) {
    thread_table[page].store(new std::atomic<Thread*>[kThreadsPage](), std::memory_order_release);
  }
  return numbers_used++;
}

weft_key_t unit_key() {
  static const weft_key_t key = [] {
    weft_key_t made = nullptr;
    weft_key_create([](void* thread) { thread_forget(static_cast<Thread*>(thread)); }, &made);
    return made;
  }();
  return key;
}

pthread_key_t kernel_key() {
  static const pthread_key_t key = [] {
    pthread_key_t made;
    pthread_key_create(&made, [](void* thread) { thread_forget(static_cast<Thread*>(thread)); });
    return made;
  }();
  return key;
}

// The initial task of a root, and the team that it has to itself.
void give_initial_team(Thread& thread) {
  auto* team = new Team;
  team->members.grow(1);
  team->contention = new Contention;
  team->icvs = device().initial;
  Member& member = team->members[0];
  member.team = team;
  member.thread = &thread;
  member.head = share_head_create();
  member.share = member.head;
  if (team->icvs.place_count > 0 && team->icvs.bind != Bind::kFalse) member.place = team->icvs.place_first;
  implicit_task_begin(member);
  thread.member = &member;
}

void drop_initial_team(Thread& thread) {
  Member& member = *thread.member;
  Team* team = member.team;
  implicit_task_end(member);
  calls_release(nullptr, member.implicit);
  queue_destroy(member.queue);
  share_head_destroy(member.head);
  delete team->contention;
  delete team;
  thread.member = nullptr;
}

bool is_main() noexcept { return rt::kernel_tid() == getpid(); }

[[gnu::noinline]] Thread& meet() {
  const bool main = is_main();  // a ULT, as which it goes on from here, is on another kernel thread
  runtime_start();
  if (main) runtime_meets_main();
  tool::start();
  weft_unit_t unit = front::self();  // the main thread has become a unit by that
  if (unit != nullptr && !weft_is_ult(unit)) unit = nullptr;
  Thread* thread = thread_create(main);
  if (thread == nullptr) {
    std::fprintf(stderr, "weft: OpenMP: more than %d threads at a time\n", kMostThreads);
    std::abort();
  }
  thread->unit = unit;
  give_initial_team(*thread);
  if (unit != nullptr) {
    weft_key_set(unit_key(), thread);
    keep_at_place(*thread->member, 0);
  } else {  // it is bound in its first region
    kernel_thread = thread;
    crowd_comes();
    pthread_setspecific(kernel_key(), thread);
  }
  if (tool::there()) {
    tool::thread_begins(*thread, ompt_thread_initial);
    tool::initial_task_begins(*thread->member, 1, 1);
  }
  return *thread;
}

// What is found is known from then on.
[[gnu::noinline]] Thread* look_up(weft_unit_t unit) {
  const bool is_ult = unit != nullptr && weft_is_ult(unit);
  Thread* thread = kernel_thread;
  if (is_ult) thread = own_thread.unit == unit ? own_thread.thread : static_cast<Thread*>(weft_key_get(unit_key()));
  if (thread != nullptr && (is_ult || unit == nullptr)) {
    weft_omp_known = {unit, known_epoch.load(std::memory_order_relaxed), thread};
  }
  return thread;
}

}  // namespace

Thread* thread_create(bool main) {
  const std::scoped_lock hold(table_lock);
  const int number = number_acquire(main);
  if (number < 0) return nullptr;
  std::atomic<Thread*>& place =
      thread_table[number / kThreadsPage].load(std::memory_order_relaxed)[number % kThreadsPage];
  Thread* thread = place.load(std::memory_order_relaxed);
  if (thread == nullptr) {
    thread = new Thread;  // for good: others may look at it whenever they like
    thread->gtid = number;
    thread->random = static_cast<uint64_t>(number) * 0x9e3779b97f4a7c15u + 1;
    place.store(thread, std::memory_order_release);
  }
  thread->unit = nullptr;
  thread->has_identity = false;
  thread->kept = nullptr;
  thread->kept_at = -1;
  thread->parting = 0;
  thread->part = {};
  thread->shown_level = -1;
  return thread;
}

void thread_release(Thread* thread) {
  llvm::forget_thread(*thread);
  blocks_drain(*thread);
  known_epoch.fetch_add(1, std::memory_order_relaxed);
  const std::scoped_lock hold(table_lock);
  if (thread->gtid != forkers_number) numbers_free().push(thread->gtid);
}

void thread_forget_in_child(Thread* thread) {
  forkers_number = thread->gtid;
  thread_forget(thread);
}

void thread_forget(Thread* thread) {
  while (thread->member->outer != nullptr) thread->member = thread->member->outer;
  if (thread->member->inner != nullptr) team_destroy(thread->member->inner);
  thread->member->inner = nullptr;
  if (tool::there()) {
    // Of a unit it may be whoever joins it that comes here, and whom the tool asks.
    Thread* caller = this_thread_if_any();
    if (caller == nullptr) weft_omp_known = {front::self(), known_epoch.load(std::memory_order_relaxed), thread};
    tool::root_ends(*thread, caller);
  }
  drop_initial_team(*thread);
  if (thread->unit == nullptr) {
    kernel_thread = nullptr;
    crowd_goes();
    pthread_setspecific(kernel_key(), nullptr);
  }
  weft_omp_known.thread = nullptr;
  thread_release(thread);
}

void thread_is(Thread* thread) {
  if (thread->has_identity) {
    own_thread = {thread->unit, thread};
  } else {
    weft_key_set(unit_key(), thread);
  }
  weft_omp_known = {thread->unit, known_epoch.load(std::memory_order_relaxed), thread};
}

void thread_is_no_more(Thread* thread) {
  if (thread->has_identity) {
    own_thread = {nullptr, nullptr};
  } else {
    weft_key_set(unit_key(), nullptr);
  }
  weft_omp_known.thread = nullptr;
  thread->member = nullptr;
  thread_release(thread);
}

Thread* this_thread_if_any() {
  const weft_unit_t unit = front::self();
  Thread* thread = known_thread(unit);
  return __builtin_expect(thread != nullptr, 1) ? thread : look_up(unit);
}

Thread& find_this_thread(weft_unit_t unit) {
  Thread* thread = look_up(unit);
  return thread != nullptr ? *thread : meet();
}

int find_this_number() {
  const bool nobody_is_main = first_page[kNumberOfMain].load(std::memory_order_acquire) == nullptr;
  if (nobody_is_main && this_thread_if_any() == nullptr && is_main()) return kNumberOfMain;
  return this_thread().gtid;
}

int threads_known() {
  const std::scoped_lock hold(table_lock);
  return numbers_used;
}

void threads_forget_all_but(Thread* keep) {
  known_epoch.fetch_add(1, std::memory_order_relaxed);
  numbers_free() = {};
  for (int i = 0; i < numbers_used; ++i) {
    Thread* found = thread_at(i);
    if (found == nullptr || found == keep) continue;
    Thread& thread = *found;
    thread.member = nullptr;
    thread.parked.store(0, std::memory_order_relaxed);
    thread.helping.store(false, std::memory_order_relaxed);
    // It may have stopped in the middle of any of these.
    for (Stock& stock : thread.stocks) stock = {};
    thread.untold = {};
    thread.runs_next = false;
    thread.next = nullptr;
    if (i != forkers_number) numbers_free().push(i);
  }
}

void thread_table_lock() { table_lock.lock(); }
void thread_table_unlock() { table_lock.unlock(); }

}  // namespace weft::omp
