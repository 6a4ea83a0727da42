#include "task.hpp"

#include <algorithm>
#include <new>
#include <utility>

#include "depend.hpp"
#include "icvs.hpp"
#include "memory.hpp"
#include "os/clock.hpp"
#include "queue.hpp"
#include "task_call.hpp"
#include "task_end.hpp"
#include "wait.hpp"

namespace weft::omp {

namespace {

// Before it has begun: by cancel taskgroup, cancel parallel.
bool is_dropped(const Member& member, const Task* task) {
  if ((task->flags & task_flag::kNoCancel) != 0) return false;
  if (member.team->cancelled.load(std::memory_order_relaxed)) return true;
  return task->home_group != nullptr && task->home_group->cancelled.load(std::memory_order_relaxed);
}

// Its body has ended. Who has made an undeferred task goes on when it has ended as a whole: with its event.
// `runs_next`: one that becomes ready by that is in Thread::next.
void finish(Member& member, Task* task, bool runs_next = false) {
  constexpr uint16_t kBoth = task_flag::kDetachable | task_flag::kUndeferred;
  if (__builtin_expect((task->flags & kBoth) == kBoth, 0)) {
    wait_until(member, Work::kDescendants,
               [task] { return (task->event.load(std::memory_order_acquire) & kEventFulfilled) != 0; });
  }
  member.thread->runs_next = runs_next;
  task_finish(*member.thread, task);
  member.thread->runs_next = false;
}

void run_inline(Member& member, Task* task) {
  task_execute(member, task);
  finish(member, task);
}

// Sorted into the team's list.
void push_priority(Team& team, Task* task) {
  while (team.priority_lock.test_and_set(std::memory_order_acquire)) weft_yield();
  Task** place = &team.priority_list;
  while (*place != nullptr && (*place)->priority >= task->priority) place = &(*place)->next;
  task->next = *place;
  *place = task;
  team.priority_count.fetch_add(1, std::memory_order_seq_cst);
  team.priority_lock.clear(std::memory_order_release);
}

Task* pop_priority(Team& team, const Task* ancestor) {
  if (team.priority_count.load(std::memory_order_relaxed) == 0) return nullptr;
  while (team.priority_lock.test_and_set(std::memory_order_acquire)) weft_yield();
  Task* found = nullptr;
  for (Task** place = &team.priority_list; *place != nullptr; place = &(*place)->next) {
    if (ancestor != nullptr && !descends_from(*place, ancestor)) continue;
    found = *place;
    *place = found->next;
    team.priority_count.fetch_sub(1, std::memory_order_relaxed);
    break;
  }
  team.priority_lock.clear(std::memory_order_release);
  return found;
}

[[gnu::noinline]] void queue_priority(Member& member, Task* task) {
  Team& team = *member.team;
  push_priority(team, task);
  team.has_tasks.store(true, std::memory_order_seq_cst);
  if (team.parked.load(std::memory_order_seq_cst) != 0) wake_one(team, member);
}

// False: the caller runs it.
bool queue_task(Member& member, Task* task) {
  if (__builtin_expect(task->priority > 0 && device().max_task_priority > 0, 0)) {
    queue_priority(member, task);
    return true;
  }
  const bool asked = (task->flags & task_flag::kAsked) != 0;
  const bool at_once = asked ? (task->flags & task_flag::kAtOnce) != 0 : task_best_at_once(member);
  return !at_once && queue_push(member, task);
}

// So many at a time: each look goes through all of them. What is behind them in the queue its owner gets to by itself.
constexpr uint32_t kMostPutAside = 32;

// What has been taken from that queue may not run above what waits here: it goes where anybody finds it.
void put_aside(Member& member, Member& home, Task* task) {
  Team& team = *member.team;
  inbox_push(home.queue, task);
  wake(*home.thread);
  if (team.parked.load(std::memory_order_seq_cst) != 0) wake_one(team, member);
}

// While a task waits for its children: from who has taken one of them. What waits there has come of that child, since who takes one has
// nothing else left; or it has been taken in its turn. D. B. Wagner, B. G. Calder: Leapfrogging: a portable technique for
// implementing efficient futures, PPoPP 1993. In the others' queues there would be many that may not run here; the
// oldest ones, which are the largest.
Task* steal_back(Member& member) {
  constexpr int kMostHops = 8;
  Team& team = *member.team;
  Thread& thread = *member.thread;
  const int n = team.places.load(std::memory_order_acquire);
  thread.random = thread.random * 6364136223846793005u + 1442695040888963407u;
  const auto any = static_cast<uint32_t>(thread.random >> 33);
  const int first = queue_thief(member.queue, (any & 1) != 0 ? (any >> 1) % Queue::kThieves : 0);
  for (int num = first, hops = 0; hops < kMostHops; ++hops) {
    if (num < 0 || num >= n || num == member.num) return nullptr;
    Member& thief = team.members[num];
    Task* task = queue_has_tasks(thief.queue) ? queue_steal(thief.queue, member.num) : nullptr;
    if (task != nullptr && !descends_from(task, member.task)) {
      if (num == first) queue_forget_thief(member.queue, num);
      put_aside(member, thief, task);
      return nullptr;
    }
    if (task == nullptr) task = inbox_pop(thief, member.task, member.num);
    if (task != nullptr) {
      thread.stats.add(Stat::kSteals);
      return task;
    }
    num = queue_thief(thief.queue, 0);
  }
  return nullptr;
}

// Whether that would find one with those who have taken a child themselves. Each of the others has somebody else who waits for it.
bool may_steal_back(const Member& member, int n) {
  for (uint32_t i = 0; i < Queue::kThieves; ++i) {
    const int num = queue_thief(member.queue, i);
    if (num < 0 || num >= n || num == member.num) continue;
    Queue& queue = member.team->members[num].queue;
    if (queue_has_tasks(queue) || inbox_has(queue, member.task)) return true;
  }
  return false;
}

// Somebody else's, while this member waits.
Task* steal(Member& member, Work work) {
  Team& team = *member.team;
  Thread& thread = *member.thread;
  const int n = team.places.load(std::memory_order_acquire);
  thread.random = thread.random * 6364136223846793005u + 1442695040888963407u;
  auto victim = static_cast<int>((thread.random >> 33) % static_cast<unsigned>(n));
  for (int tries = 0; tries < n; ++tries, ++victim) {
    if (victim >= n) victim -= n;
    if (victim == member.num) continue;
    Queue& queue = team.members[victim].queue;
    const bool any = work != Work::kDescendants;
    if (queue_has_tasks(queue) && (any || queue.inbox_count.load(std::memory_order_relaxed) < kMostPutAside)) {
      Task* task = queue_steal(queue, member.num);
      if (task != nullptr) {
        if (any || descends_from(task, member.task)) {
          thread.stats.add(Stat::kSteals);
          return task;
        }
        queue_forget_thief(member.queue, victim);
        put_aside(member, team.members[victim], task);
      }
    }
    if (Task* task = inbox_pop(team.members[victim], any ? nullptr : member.task, member.num)) {
      thread.stats.add(Stat::kSteals);
      return task;
    }
  }
  if (!team.hungry.load(std::memory_order_relaxed)) team.hungry.store(true, std::memory_order_relaxed);
  return nullptr;
}

Task* find_task(Member& member, Work work, bool everywhere) {
  const Task* ancestor = work == Work::kDescendants ? member.task : nullptr;
  Team& team = *member.team;
  if (Task* task = pop_priority(team, ancestor)) return task;
  if (Task* task = queue_pop(member, ancestor != nullptr)) return task;
  if (!team.has_tasks.load(std::memory_order_relaxed)) return nullptr;
  if (Task* task = inbox_pop(member, ancestor, member.num)) return task;
  return ancestor == nullptr || everywhere ? steal(member, work) : steal_back(member);
}

// And then the ones that become ready by its end, one by one: as its siblings they may run where it did, what it has written is near, and
// nobody has to be told. Not for long: the caller may have nothing to wait for any more.
void run_found(Member& member, Task* task) {
  constexpr int kMostNext = 16;
  Thread& thread = *member.thread;
  for (int i = 0; task != nullptr; ++i) {
    task_execute(member, task);
    finish(member, task, i < kMostNext);
    task = std::exchange(thread.next, nullptr);
    if (task != nullptr) tell_ends_before(thread, task);
  }
}

// It has done its part of the region that there is. Before that it must not begin with something else: others wait for it.
bool is_through(const Member& member) {
  return member.number == std::atomic_ref(member.team->number).load(std::memory_order_relaxed);
}

// It has been taken by mistake.
void put_back(Member& member, Task* task) {
  if (task->priority > 0 && device().max_task_priority > 0) {
    queue_priority(member, task);
  } else {
    task_is_ready(member.thread, task);
  }
}

bool run_idle(Member& member, bool searching) {
  Team& team = *member.team;
  Thread& thread = *member.thread;
  if (!team.has_tasks.load(std::memory_order_relaxed) || !is_through(member)) {
    tell_ends_before(thread, nullptr);
    return false;
  }
  thread.helping.store(true, std::memory_order_seq_cst);  // pairs with leave_out() in region.cpp
  Task* task = nullptr;
  if (member.num < team.places.load(std::memory_order_seq_cst)) task = find_task(member, Work::kAny, true);
  thread.helping.store(false, std::memory_order_release);  // from here on the task keeps the region
  // All tasks of a region have ended when the next one begins. So if that has begun meanwhile, the task is of the next one.
  if (task != nullptr && !is_through(member)) {
    put_back(member, task);
    task = nullptr;
  }
  tell_ends_before(thread, task);
  if (task == nullptr) return false;
  if (searching) hand_on_search(member);
  member.task = &member.implicit;
  run_found(member, task);
  return true;
}

}  // namespace

// ---- waiting

bool run_one(Member& member, Work work, bool searching, bool everywhere) {
  if (work == Work::kIdle) return run_idle(member, searching);
  Task* task = find_task(member, work, everywhere);
  tell_ends_before(*member.thread, task);
  if (task == nullptr) return false;
  if (searching) hand_on_search(member);
  run_found(member, task);
  return true;
}

bool may_find_work(const Member& member, Work work) {
  const Team& team = *member.team;
  if (!team.has_tasks.load(std::memory_order_seq_cst)) return false;
  const int n = team.places.load(std::memory_order_seq_cst);
  if (work == Work::kIdle && (member.num >= n || !is_through(member))) return false;
  if (work == Work::kDescendants) {
    // What it waits for is in its own queue, or runs: who ends that wakes it; but may spin until what has come of it has run.
    return inbox_has(const_cast<Queue&>(member.queue), member.task) || may_steal_back(member, n);
  }
  if (team.priority_count.load(std::memory_order_seq_cst) != 0) return true;
  for (int i = 0; i < n; ++i) {
    const Queue& queue = team.members[i].queue;
    if (queue_has_tasks(queue) || queue.inbox_count.load(std::memory_order_seq_cst) != 0) return true;
  }
  return false;
}

// ---- life

Task* task_create(Member& member, const TaskWish& wish, size_t payload_bytes) {
  Thread& thread = *member.thread;
  Task* parent = member.task;
  thread.stats.add(Stat::kTasks);
  const size_t bytes = sizeof(Task) + payload_bytes;
  Task* task = new (block_acquire(thread, bytes)) Task;
  if (const void* ahead = block_ahead(thread, bytes)) prefetch_task(ahead);
  task->parent = parent;
  task->run = wish.run;
  task->drop = wish.drop;
  task->bytes = static_cast<uint32_t>(bytes);
  task->flags = wish.flags;
  task->priority = wish.priority;
  task->member = &member;
  task->icvs = parent->icvs;
  if ((parent->flags & task_flag::kFinal) != 0) task->flags |= task_flag::kFinal | task_flag::kUndeferred;
  if (tool::there()) tool::task_cleared(*task);
  return task;
}

namespace {

// What a tool is told of a task whose body has run.
[[gnu::noinline]] ompt_task_status_t status_of(Task& task) {
  if ((task.flags & task_flag::kDetachable) != 0) return tool::body_of_detachable_ends(task);
  const TaskGroup* group = task.home_group;
  const bool cancelled = group != nullptr && group->cancelled.load(std::memory_order_relaxed);
  return cancelled ? ompt_task_cancel : ompt_task_complete;
}

}  // namespace

void run_one_child(Member& member) {
  Task* child = queue_pop(member, true);
  if (child != nullptr) run_inline(member, child);
}

void task_execute(Member& member, Task* task) {
  Task* before = member.task;
  task->member = &member;
  const bool told = tool::there();
  if (!is_dropped(member, task)) {
    task->flags |= task_flag::kNoCancel;
    tool::Left left = {};
    if (__builtin_expect(told, 0)) left = tool::task_begins(member, *task);
    member.task = task;
    while (true) {
      task->run(task);
      if (__builtin_expect((task->flags & task_flag::kAgain) == 0, 1)) break;
      task_flags_set(*task, task->flags & ~task_flag::kAgain);
      if (task->children != 0) run_one_child(member);
    }
    member.task = before;
    if (__builtin_expect(told, 0)) tool::task_ends(member, *task, *before, status_of(*task), left);
  } else if (__builtin_expect(told, 0)) {
    tool::task_dropped(*task);
  }
}

namespace {

// Runs other things until what the node stands for may begin.
void wait_for_node(Member& member, DepNode* node) {
  if (node_arm(node)) return;
  wait_until(member, Work::kDescendants, [node] { return node_is_ready(node); });
}

bool runs_at_once(const Task* task) { return (task->flags & task_flag::kUndeferred) != 0; }

// Tasks that wait for others are in no queue, which would be full one day. Who has made so many that have not ended runs one before
// the next, if there is one that can run: 64 for each thread, as libgomp has it, are some hundred kilobytes at least.
void run_rather_than_make(Member& member) {
  constexpr uint32_t kFewThreads = 4;
  const Task& parent = *member.task;
  const uint32_t most = 64 * std::max(static_cast<uint32_t>(member.team->n), kFewThreads);
  if (parent.children < most) return;
  if (parent.children - shallow_of(parent.elsewhere.load(std::memory_order_relaxed)) < most) return;
  run_one(member, Work::kDescendants);
  tell_ends_before(*member.thread, nullptr);
}

void start(Member& member, Task* task) {
  if (__builtin_expect(task->run == nullptr, 0)) {
    task_is_ready(member.thread, task);
  } else if (runs_at_once(task)) {
    run_inline(member, task);
  } else if (!queue_task(member, task)) {
    member.thread->stats.add(Stat::kTasksAtOnce);
    run_inline(member, task);
  }
}

}  // namespace

void task_defer(Member& member, Task* task) {
  count_task(*task);
  if (tool::there()) tool::task_made(member, *task);
  if (queue_push(member, task)) return;
  member.thread->stats.add(Stat::kTasksAtOnce);
  run_inline(member, task);
}

// Flat: it is on the path of each task.
[[gnu::flatten]] void task_start(Member& member, Task* task) {
  count_task(*task);
  if (tool::there()) tool::task_made(member, *task);
  start(member, task);
}

void task_start(Member& member, Task* task, size_t n, const Depend* depends) {
  count_task(*task);
  if (tool::there()) tool::task_made(member, *task, n, depends);
  if (n == 0) {
    start(member, task);
    return;
  }
  const bool at_once = runs_at_once(task);
  // There is nobody but itself: if it runs now it waits for nobody, and nobody for it.
  const bool alone = tasks_left(*task->parent) == 1 && (task->flags & task_flag::kDetachable) == 0 && task->run != nullptr;
  if (alone && (at_once || task_best_at_once(member))) {
    run_inline(member, task);
    return;
  }
  task->node = node_create(task->parent, task, n, depends, true, at_once ? member.thread : nullptr);
  if (at_once) {
    wait_for_node(member, task->node);
  } else if (!node_arm(task->node)) {
    run_rather_than_make(member);
    return;
  }
  start(member, task);
}

void task_begin(Member& member, Task* task, size_t n, const Depend* depends) {
  count_task(*task);
  task->flags |= task_flag::kNoCancel | task_flag::kUndeferred;
  if (tool::there()) tool::task_made(member, *task, n, depends);
  if (n != 0) {
    task->node = node_create(task->parent, task, n, depends, true, member.thread);
    wait_for_node(member, task->node);
  }
  task->member = &member;
  if (tool::there()) tool::task_begins(member, *task);
  member.task = task;
}

void task_end(Member& member, Task* task) {
  member.task = task->parent;
  if (tool::there()) tool::task_ends(member, *task, *task->parent, status_of(*task));
  finish(member, task);
}

void task_unused(Member& member, Task* task) {
  member.thread->stats.take_back(Stat::kTasks);
  count_task(*task);
  task->flags |= task_flag::kNoCancel;
  task->member = &member;
  task_finish(*member.thread, task);
}

namespace {

constexpr uint32_t kMeasured = 64;           // tasks
constexpr uint64_t kShort = 1000;            // ns from one to the next
constexpr uint32_t kEnough = 2;              // tasks that wait
constexpr uint32_t kEager = 16 * kMeasured;  // tasks after one has been taken by somebody else

// What is taken from a thread whose other tasks run at once are small ones, and soon somebody comes for the next. So for a while
// all wait, down to those that begin the largest parts.
[[gnu::noinline]] void measure_tasks(Member& member) {
  const uint64_t now = rt::now_ns();
  const uint32_t head = member.queue.head.load(std::memory_order_relaxed);
  if (head != member.head_seen) member.eager_until = member.tasks_made + kEager;
  member.head_seen = head;
  const bool eager = static_cast<int32_t>(member.eager_until - member.tasks_made) > 0;
  if (!eager) member.eager_until = member.tasks_made;  // it stays behind: 2^31 tasks later it would lie ahead again
  member.tasks_are_short = !eager && now - member.tasks_since < kMeasured * kShort;
  member.tasks_since = now;
}

}  // namespace

bool task_best_at_once(Member& member) {
  // In a team of one nobody else could run it, and nothing is won by putting it off.
  if (member.team->n == 1) return true;
  const Task& task = *member.task;
  if ((task.flags & task_flag::kFinal) != 0) return true;  // it is included
  if (++member.tasks_made % kMeasured == 0) measure_tasks(member);
  if (queue_is_full(member)) return true;
  if (!member.tasks_are_short) return false;
  const Queue& queue = member.queue;
  if (queue.tail.load(std::memory_order_relaxed) - queue.head.load(std::memory_order_relaxed) < kEnough) return false;
  return (task.flags & task_flag::kImplicit) == 0 && (task.parent->flags & task_flag::kImplicit) == 0;
}

void call_seen(Member& member, Task& task, void (*body)(void*), void* arg) {
  tool::task_cleared(task);
  tool::task_made(member, task);
  const tool::Left left = tool::task_begins(member, task);
  member.task = &task;
  tool::call(task, [=] { body(arg); });
  member.task = task.parent;
  tool::task_ends(member, task, *task.parent, status_of(task), left);
}

Task* task_for_calls(Member& member, size_t bytes) {
  Task* task = new (block_acquire(*member.thread, bytes)) Task;
  task->parent = member.task;
  task->bytes = static_cast<uint32_t>(bytes);
  task->member = &member;
  return task;
}

void call_becomes_task(Member& member, Task* task, void (*run)(Task* task)) {
  member.thread->stats.add(Stat::kTasks);
  task->run = run;
  task->flags &= static_cast<uint16_t>(~task_flag::kNoCancel);
  if (!tasks_are_included(member)) task->flags &= static_cast<uint16_t>(~task_flag::kUndeferred);
}

bool call_leaves(Member& member, Task* task) {
  const bool simple = task->dependences == nullptr && task->icvs_own == nullptr;
  // Acquire, pairs with the additions in task_end.cpp.
  if (simple && tasks_are_done(*task)) {
    settle(*task);  // children that others have run
    return false;
  }
  count_child(*task->parent);
  task_finish(*member.thread, task);
  return true;
}

void task_again(Member&, Task* task) { task_flags_set(*task, task->flags | task_flag::kAgain); }

bool tasks_are_included(const Member& member) { return (member.task->flags & task_flag::kFinal) != 0; }

// ---- waiting for them

namespace {

void wait_for_children(Member& member) {
  Task& task = *member.task;
  if (task.children == 0) return;
  wait_until(member, Work::kDescendants, [&task] { return children_have_ended(task); });
  settle(task);
}

[[gnu::noinline, gnu::cold]] void wait_seen(Member& member) {
  const tool::Sync told(member, ompt_sync_region_taskwait);
  wait_for_children(member);
}

}  // namespace

void task_wait(Member& member) { tool::there() ? wait_seen(member) : wait_for_children(member); }

void task_wait_depend(Member& member, size_t n, const Depend* depends, bool nowait) {
  if (nowait) {
    task_start(member, task_create(member, {}), n, depends);
    return;
  }
  ompt_data_t seen;
  if (tool::there()) tool::waiting_task_begins(member, seen, n, depends);
  DepNode* node = node_create(member.task, nullptr, n, depends, false, member.thread, &seen);
  if (node != nullptr) {
    wait_for_node(member, node);
    node_release(member.thread, node);
  }
  if (tool::there()) tool::waiting_task_ends(seen);
}

void task_yield(Member& member) {
  const tool::Yield told(member);
  run_one(member, Work::kDescendants);
  tell_ends_before(*member.thread, nullptr);
  weft_yield();
}

// ---- groups

void group_begin(Member& member, TaskGroup* group) {
  group->outer = member.task->group;
  group->owner = member.task;
  member.task->group = group;
  if (tool::there()) tool::group_begins(member);
}

TaskGroup* group_end(Member& member) {
  TaskGroup* group = member.task->group;
  if (tool::there()) tool::group_waits(member);
  wait_until(member, Work::kDescendants, [group] { return group_is_done(*group); });
  member.task->group = group->outer;
  settle(*member.task);
  if (tool::there()) tool::group_ends(member);
  return group;
}

bool cancel_group(Member& member) {
  if (!device().cancel || member.task->group == nullptr) return false;
  member.task->group->cancelled.store(true, std::memory_order_seq_cst);
  return true;
}

// ---- implicit tasks

void implicit_task_begin(Member& member) {
  Task& task = member.implicit;
  task.flags = task_flag::kImplicit;
  task.member = &member;
  task.icvs = &member.team->icvs;
  task.group = nullptr;
  task.children = 0;
  task.deep = 0;
  task.elsewhere.store(0, std::memory_order_relaxed);
  if (tool::there()) tool::task_cleared(task);
  member.task = &task;
}

void implicit_task_end(Member& member) {
  Task& task = member.implicit;
  if (__builtin_expect(task.dependences != nullptr, 0)) {
    dependences_destroy(member.thread, task.dependences);
    task.dependences = nullptr;
  }
  if (__builtin_expect(task.icvs_own != nullptr, 0)) icvs_release(task);
}

}  // namespace weft::omp
