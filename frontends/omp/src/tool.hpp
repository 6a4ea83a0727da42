// tool.hpp: OMPT: what a tool is told, and what is kept for it.
//
// Where there is no tool, each place at which one would be told something costs a look at one word that never changes. Nothing
// else is done for tools then: what stands in `TaskSeen` and its like is not even cleared.
//
// Whose code runs. A task's `exit_frame` is set while the program's code of it runs, or waits on the stack for what it has called;
// its `enter_frame` while that code is in the runtime. The interfaces say that they have been called by an `Entry` in their first
// line, which also keeps the address that the tool is told. The program's code is called through the functions below, which
// put the entry away meanwhile: what it calls has an entry of its own.
//
// Which of a thread's tasks is told of as waiting for which: `TaskSeen::below`, the one on whose stack it runs.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "weft/omp/omp-tools.h"

namespace weft::omp {

struct Depend;
struct LoopSpec;
struct Member;
struct Task;
struct Team;
struct Thread;

struct TaskSeen {
  ompt_data_t data;
  ompt_frame_t frame;
  Task* below;  // explicit tasks'
  ompt_dispatch_chunk_t piece;  // of a taskloop; without iterations: it is none
};

struct TeamSeen {
  ompt_data_t data;
  const void* called_from;  // who has opened the region
  int flags;                // ompt_parallel_flag_t
};

struct MemberSeen {
  ompt_work_t work;  // the worksharing construct that it is in
  uint64_t count;
  bool works;
  bool is_over;  // the region, which it is still at the end of
  int threads;   // in the region
};

struct ThreadSeen {
  ompt_data_t data;
  ompt_state_t state;
  ompt_wait_id_t wait_id;
  const void* called_from;  // by the program, in which it is now; null: its code runs, or nobody's
  bool yields;              // in a taskyield
  Thread* speaks_for;       // a unit that has ended, which it tells of; null: itself
  ompt_dispatch_chunk_t chunk;
  uint64_t last_id;  // that it has been given; atomic: handlers ask, too
};

namespace tool {

// Bit n: the tool wants ompt_callback n. Bit 0: there is one. kNotAsked: nobody has looked for one yet.
inline constexpr uint64_t kThere = 1, kNotAsked = uint64_t{1} << 63;
// Everybody looks at it all the time: beside nothing that is written.
struct alignas(64) Wanted {
  std::atomic<uint64_t> bits;
};
extern Wanted wanted;
// Asked before all else here.
inline bool there() { return __builtin_expect(wanted.bits.load(std::memory_order_relaxed) != 0, 0); }

// ---- the tool itself

// Whether one may be found: asked before there is a runtime, by who would else not start it.
bool may_be();
// The runtime has started: the tool is looked for, and begins. Context: the first thread, before it is made known.
void start();
// Round a fork: nobody looks for a tool meanwhile.
void fork_begins();
void fork_ends();
void fork_ends_in_child();
// In a child of fork(): the others' threads are gone, and who has begun it, if that was one of them: it begins anew.
void forget_threads();
void forget_who_begins();
// It is told that all ends, by whoever ends the process.
void finish();
// omp_control_tool().
int control(uint64_t command, uint64_t modifier, void* arg);
// The program's error directive.
void error(bool fatal, const char* message);

// ---- whose code runs

// In a function that the program has called, with its return address and its caller's frame, until it returns.
class Entry {
 public:
  [[gnu::always_inline]] Entry(const void* from, void* frame) {
    if (there()) begin(from, frame);
  }
  [[gnu::always_inline]] ~Entry() {
    if (__builtin_expect(x_thread != nullptr, 0)) end();
  }
  Entry(const Entry&) = delete;
  Entry& operator=(const Entry&) = delete;

 private:
  void begin(const void* from, void* frame);
  void end();
  Thread* x_thread = nullptr;  // null: nothing is told, or it was the runtime that has called
};
// The arguments of an Entry. The frame is the canonical frame address, for which no register is needed.
#define WEFT_OMP_CALLER __builtin_return_address(0), __builtin_dwarf_cfa()
// What was in the register for frames when the function was called.
#define WEFT_OMP_FRAME_REGISTER *static_cast<void**>(__builtin_frame_address(0))

// Calls the program's code of a task, or of a region's member: the frame of this function is the one below it.
template <class Code>
[[gnu::noinline]] void call(Task& task, Code code);
// The program calls the code of its current task itself: it returns to it from here. `frame`: what it
// has in the register for frames.
void called_by_program(Member& member, void* frame);

// ---- threads, regions, their members

void thread_begins(Thread& thread, ompt_thread_t kind);
void thread_ends(Thread& thread);
// Also its initial task. `caller`: who tells of it; null: none of OpenMP's.
void root_ends(Thread& thread, Thread* caller);
// So many threads have been told to end, and will be heard of.
void threads_will_end(int count);
// The initial task of a root, or of a team of a league.
void initial_task_begins(Member& member, int teams, int index);
void initial_task_ends(Member& member, int index);
// threads: what is wanted. The region's members are not there yet.
void region_begins(Team& team, Member& opener, int threads, int flags);
void region_ends(Team& team, Member& opener);
void implicit_task_begins(Member& member);
// At the region's end: it comes to the barrier there, with whatever tasks are left; leaves it; and its task ends.
void join_begins(Member& member);
void join_ends(Member& member);
void implicit_task_ends(Member& member);

// ---- tasks

// Its data are cleared: it has been made.
void task_cleared(Task& task);
// It is started, with so many dependences.
void task_made(Member& member, Task& task, size_t n = 0, const Depend* depends = nullptr);
// What the member's thread was doing in the task that it has left for another one.
struct Left {
  const void* called_from;
  ompt_state_t state;
  bool yields;
};
// The member leaves its current task for this one, and comes back.
Left task_begins(Member& member, Task& task);
void task_ends(Member& member, Task& task, Task& back, ompt_task_status_t status, const Left& left);
// The same where the program calls the code of both itself.
void task_ends(Member& member, Task& task, Task& back, ompt_task_status_t status);
void task_dropped(Task& task);
// Of a detachable one: its body has ended (what it is then said to be); the event has been fulfilled (Task::event as it was).
ompt_task_status_t body_of_detachable_ends(Task& task);
void event_fulfilled(ompt_data_t data, uint32_t event_before);
void dependence(ompt_data_t& before, ompt_data_t& after);

// taskwait depend: a task that only waits.
void waiting_task_begins(Member& member, ompt_data_t& data, size_t n, const Depend* depends);
void waiting_task_ends(ompt_data_t& data);

// In its life the member waits for others, of that kind.
class Sync {
 public:
  [[gnu::always_inline]] Sync(Member& member, ompt_sync_region_t kind) {
    if (there()) begin(member, kind);
  }
  [[gnu::always_inline]] ~Sync() {
    if (__builtin_expect(x_member != nullptr, 0)) end();
  }
  Sync(const Sync&) = delete;
  Sync& operator=(const Sync&) = delete;

 private:
  void begin(Member& member, ompt_sync_region_t kind);
  void end();
  Member* x_member = nullptr;
  ompt_sync_region_t x_kind = ompt_sync_region_barrier;
  ompt_state_t x_before = ompt_state_undefined;
};
// A taskgroup, which waits at its end only.
void group_begins(Member& member);
void group_waits(Member& member);
void group_ends(Member& member);
void reduction(Member& member, ompt_scope_endpoint_t endpoint);
class Yield {
 public:
  [[gnu::always_inline]] explicit Yield(Member& member) {
    if (there()) begin(member);
  }
  [[gnu::always_inline]] ~Yield() {
    if (__builtin_expect(x_thread != nullptr, 0)) end();
  }
  Yield(const Yield&) = delete;
  Yield& operator=(const Yield&) = delete;

 private:
  void begin(Member& member);
  void end();
  Thread* x_thread = nullptr;
};

// ---- what a team shares out

void work_begins(Member& member, ompt_work_t kind, uint64_t count);
// Of the last that has begun, if it has not ended.
void work_ends(Member& member);
ompt_work_t work_of(const Member& member, const LoopSpec& spec);
// A piece of a loop: the first iteration, in the program's numbers.
void piece(Member& member, ompt_dispatch_t kind, uint64_t first, uint64_t iterations);
void section(Member& member);
// A construct that is no loop: single, and those of tasks.
void work(Member& member, ompt_work_t kind, ompt_scope_endpoint_t endpoint, uint64_t count = 1);
void masked(Member& member, ompt_scope_endpoint_t endpoint);
void doacross(Member& member, ompt_dependence_type_t type, const int64_t* values, unsigned dims);
void cancel(Member& member, int flags);
void flush();

// ---- locks

void lock_made(ompt_mutex_t kind, const void* lock, unsigned hint = 0);
void lock_gone(ompt_mutex_t kind, const void* lock);
void mutex_wanted(ompt_mutex_t kind, const void* lock, unsigned hint = 0);
void mutex_taken(ompt_mutex_t kind, const void* lock);
void mutex_left(ompt_mutex_t kind, const void* lock);
// A nestable one that it has already: once more, or once less.
void nest_changed(ompt_scope_endpoint_t endpoint, const void* lock);
// After a try: it has not got it.
void mutex_missed();

// ----

void frame_left(Task& task, void* frame);
void frame_back(Task& task);

template <class Code>
void call(Task& task, Code code) {
  frame_left(task, __builtin_frame_address(0));
  code();
  frame_back(task);
}

}  // namespace tool
}  // namespace weft::omp
