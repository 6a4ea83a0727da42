// depend.cpp: for each address, who later siblings have to wait for.
//
// What a sibling waits for depends on two sets of those before it: the newest ones of a kind that may run at the same time
// (several `in`, several `inoutset`, several `mutexinoutset`, or a single `out`), and the ones before these.
//
// Tasks of a `mutexinoutset` exclude each other besides, in whatever order. When such a task has nobody to wait for any more it takes
// all of its sets at once, and is ready; or none of them, and waits in line for one that it has found taken, while others go past it.
// Who leaves a set lets all who are in line for it try again. So nobody has one set and waits for another: there is no deadlock. What a
// set is, and who has it, is under one lock for all tables, held for a few steps: the parent's table may be gone before its children.
//
// A table belongs to the parent and is used by the thread that runs it, without a lock. Nodes are shared with the threads that
// end tasks: their successors are under a lock of a few instructions.
#include "depend.hpp"

#include <memory>
#include <unordered_map>
#include <vector>

#include "arch/pause.hpp"
#include "task_end.hpp"
#include "wait.hpp"

namespace weft::omp {

struct SpinLock {
  std::atomic_flag flag = ATOMIC_FLAG_INIT;
};

// Under sets_lock.
struct MutexSet {
  bool taken = false;
  std::vector<DepNode*> line;
};

struct DepNode {
  std::atomic<uint32_t> references{1};
  std::atomic<int32_t> waits_for{1};  // nodes; and 1 until it is armed; and 1 until it has its sets, if there are any
  SpinLock lock;
  bool done = false;                  // under the lock
  Task* task = nullptr;               // constant; null: a taskwait
  bool exclusive = false;             // constant: it has sets
  std::vector<std::shared_ptr<MutexSet>> sets;  // constant once armed: those that it has to itself while it runs
  Thread* waiting = nullptr;          // constant once armed; null: the task is made ready
  ompt_data_t* seen = nullptr;        // constant: a tool's, of the task or the taskwait
  std::vector<DepNode*> successors;   // under the lock; each holds a reference
};

namespace {

// Holds one while it lives.
class Locked {
 public:
  explicit Locked(SpinLock& lock) : lock_(lock) {
    for (unsigned tries = 0; lock_.flag.test_and_set(std::memory_order_acquire); ++tries) {
      if (tries < 100) {
        rt::cpu_pause();
      } else {
        weft_yield();  // the holder has been preempted
      }
    }
  }
  ~Locked() { lock_.flag.clear(std::memory_order_release); }
  Locked(const Locked&) = delete;
  Locked& operator=(const Locked&) = delete;

 private:
  SpinLock& lock_;
};

void hold(DepNode* node) { node->references.fetch_add(1, std::memory_order_relaxed); }

using Nodes = std::vector<DepNode*>;

void clear(Nodes& nodes) {
  for (DepNode* node : nodes) node_release(node);
  nodes.clear();
}

void add(Nodes& nodes, DepNode* node) {
  hold(node);
  nodes.push_back(node);
}

struct Entry {
  Nodes before;  // all of the newest wait for these
  Nodes newest;
  DepKind kind = DepKind::kOut;  // of the newest
  std::shared_ptr<MutexSet> set;  // of the newest, if they exclude each other
};

void link(const Nodes& first, DepNode* then) {
  for (DepNode* node : first) {
    if (node == then) continue;
    const Locked lock(node->lock);
    if (node->done) continue;
    if (tool::there()) tool::dependence(*node->seen, *then->seen);  // under the lock: it does not end meanwhile
    hold(then);
    node->successors.push_back(then);
    then->waits_for.fetch_add(1, std::memory_order_relaxed);
  }
}

void wait_behind(Entry& entry, DepNode* node, DepKind kind, bool inserted) {
  const bool together = kind == entry.kind && kind != DepKind::kOut && !entry.newest.empty();
  link(together ? entry.before : entry.newest, node);
  if (!inserted) return;
  if (!together) {
    clear(entry.before);
    entry.before.swap(entry.newest);
    entry.kind = kind;
    entry.set = kind == DepKind::kMutexInOutSet ? std::make_shared<MutexSet>() : nullptr;
  }
  if (entry.set != nullptr) node->sets.push_back(entry.set);
  add(entry.newest, node);
}

// A taskwait has no code to exclude others from: it waits for all of a set.
DepKind kind_of(const Depend& depend, bool inserted) {
  return depend.kind == DepKind::kMutexInOutSet && !inserted ? DepKind::kOut : depend.kind;
}

// ---- sets

SpinLock sets_lock;

// True: it has all its sets. False: it is in line.
bool take_sets(DepNode* node) {
  for (const auto& set : node->sets) {
    if (!set->taken) continue;
    set->line.push_back(node);
    return false;
  }
  for (const auto& set : node->sets) set->taken = true;
  return true;
}

// It leaves them. Those are appended, held, that have got theirs by that.
void leave_sets(DepNode* node, Nodes& ready) {
  const Locked lock(sets_lock);
  Nodes line;
  for (const auto& set : node->sets) {
    set->taken = false;
    line.insert(line.end(), set->line.begin(), set->line.end());
    set->line.clear();
  }
  for (DepNode* next : line) {
    if (take_sets(next)) add(ready, next);
  }
}

// One thing less that it waits for. True: it was the last.
bool waits_for_less(DepNode* node) {
  const int32_t left = node->waits_for.fetch_sub(1, std::memory_order_acq_rel) - 1;
  if (!node->exclusive || left != 1) return left == 0;
  {
    const Locked lock(sets_lock);
    if (!take_sets(node)) return false;
  }
  node->waits_for.store(0, std::memory_order_seq_cst);  // W2 of wait.hpp
  return true;
}

}  // namespace

struct DepTable {
  std::unordered_map<const void*, Entry> entries;
  Nodes all;  // the last one of all memory, which addresses that are new here wait for too

  Entry& entry(const void* address) {
    const auto [place, is_new] = entries.try_emplace(address);
    if (is_new) {
      for (DepNode* node : all) add(place->second.newest, node);
    }
    return place->second;
  }
};

DepNode* node_create(Task* parent, Task* task, size_t n, const Depend* depends, bool inserted, ompt_data_t* seen) {
  if (parent->dependences == nullptr) {
    if (!inserted) return nullptr;
    parent->dependences = new DepTable;
  } else if (tasks_left(*parent) == (task != nullptr ? 1 : 0)) {
    dependences_destroy(parent->dependences);  // nobody is left to be waited for
    parent->dependences = inserted ? new DepTable : nullptr;
    if (!inserted) return nullptr;
  }
  DepTable& table = *parent->dependences;
  auto* node = new DepNode;
  node->task = task;
  node->seen = task != nullptr ? &task->seen.data : seen;
  // Before anybody whom it waits for knows it.
  for (size_t i = 0; i < n; ++i) {
    if (kind_of(depends[i], inserted) == DepKind::kMutexInOutSet) node->exclusive = true;
  }
  if (node->exclusive) node->waits_for.store(2, std::memory_order_relaxed);
  for (size_t i = 0; i < n; ++i) {
    if (depends[i].address != nullptr) continue;
    for (auto& [address, entry] : table.entries) wait_behind(entry, node, DepKind::kOut, inserted);
    link(table.all, node);
    if (inserted) {
      clear(table.all);
      add(table.all, node);
    }
    return node;
  }
  for (size_t i = 0; i < n; ++i) {
    const void* address = depends[i].address;
    // Of one address that is named more than once the strongest counts, once.
    DepKind kind = kind_of(depends[i], inserted);
    bool before = false;
    for (size_t k = 0; k < n; ++k) {
      if (depends[k].address != address || k == i) continue;
      before = before || k < i;
      if (kind_of(depends[k], inserted) != kind) kind = DepKind::kOut;
    }
    if (!before) wait_behind(table.entry(address), node, kind, inserted);
  }
  return node;
}

bool node_arm(DepNode* node, Thread* waiting) {
  node->waiting = waiting;
  // Release: whoever comes last sees `waiting`; acquire: what the ones before did.
  return waits_for_less(node);
}

bool node_is_ready(const DepNode* node) { return node->waits_for.load(std::memory_order_seq_cst) == 0; }

namespace {

void is_ready(Thread* caller, DepNode* node) {
  if (node->waiting != nullptr) {
    wake(*node->waiting);
  } else {
    task_is_ready(caller, node->task);
  }
}

}  // namespace

void dependences_met(Thread* caller, DepNode* node) {
  Nodes successors;
  {
    const Locked lock(node->lock);
    node->done = true;
    successors.swap(node->successors);
  }
  if (node->exclusive) {
    Nodes ready;
    leave_sets(node, ready);
    for (DepNode* next : ready) {
      next->waits_for.store(0, std::memory_order_seq_cst);  // W2 of wait.hpp
      is_ready(caller, next);
      node_release(next);
    }
  }
  for (DepNode* next : successors) {
    if (waits_for_less(next)) is_ready(caller, next);
    node_release(next);
  }
}

void node_release(DepNode* node) {
  if (node->references.fetch_sub(1, std::memory_order_acq_rel) == 1) delete node;
}

void dependences_destroy(DepTable* table) {
  for (auto& [address, entry] : table->entries) {
    clear(entry.before);
    clear(entry.newest);
  }
  clear(table->all);
  delete table;
}

}  // namespace weft::omp
