// depend.cpp: for each address, who later siblings have to wait for.
//
// What a sibling waits for depends on two sets of those before it: the newest ones of a kind that may run at the same time
// (several `in`, several `inoutset`, or a single `out`), and the ones before these. `mutexinoutset` is done as `out`: tasks of
// such a set exclude each other in the order in which they were made, which is one of the orders that are allowed.
//
// A table belongs to the parent and is used by the thread that runs it, without a lock. Nodes are shared with the threads that
// end tasks: their successors are under a lock of a few instructions.
#include "depend.hpp"

#include <unordered_map>
#include <vector>

#include "arch/pause.hpp"
#include "task_end.hpp"
#include "wait.hpp"

namespace weft::omp {

struct DepNode {
  std::atomic<uint32_t> references{1};
  std::atomic<int32_t> waits_for{1};  // nodes; and 1 until it is armed
  std::atomic_flag locked = ATOMIC_FLAG_INIT;
  bool done = false;                  // locked
  Task* task = nullptr;               // constant; null: a taskwait
  Thread* waiting = nullptr;          // constant once armed; null: the task is made ready
  ompt_data_t* seen = nullptr;        // constant: a tool's, of the task or the taskwait
  std::vector<DepNode*> successors;   // locked; each holds a reference
};

namespace {

class NodeLock {
 public:
  explicit NodeLock(DepNode& node) : node_(node) {
    for (unsigned tries = 0; node_.locked.test_and_set(std::memory_order_acquire); ++tries) {
      if (tries < 100) {
        rt::cpu_pause();
      } else {
        weft_yield();  // the holder has been preempted
      }
    }
  }
  ~NodeLock() { node_.locked.clear(std::memory_order_release); }
  NodeLock(const NodeLock&) = delete;
  NodeLock& operator=(const NodeLock&) = delete;

 private:
  DepNode& node_;
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
};

void link(const Nodes& first, DepNode* then) {
  for (DepNode* node : first) {
    if (node == then) continue;
    const NodeLock lock(*node);
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
  }
  add(entry.newest, node);
}

DepKind kind_of(const Depend& depend) {
  return depend.kind == DepKind::kMutexInOutSet ? DepKind::kOut : depend.kind;
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
    DepKind kind = kind_of(depends[i]);
    bool before = false;
    for (size_t k = 0; k < n; ++k) {
      if (depends[k].address != address || k == i) continue;
      before = before || k < i;
      if (kind_of(depends[k]) != kind) kind = DepKind::kOut;
    }
    if (!before) wait_behind(table.entry(address), node, kind, inserted);
  }
  return node;
}

bool node_arm(DepNode* node, Thread* waiting) {
  node->waiting = waiting;
  // Release: whoever comes last sees `waiting`; acquire: what the ones before did.
  return node->waits_for.fetch_sub(1, std::memory_order_acq_rel) == 1;
}

bool node_is_ready(const DepNode* node) { return node->waits_for.load(std::memory_order_seq_cst) == 0; }

void dependences_met(Thread* caller, DepNode* node) {
  Nodes successors;
  {
    const NodeLock lock(*node);
    node->done = true;
    successors.swap(node->successors);
  }
  for (DepNode* next : successors) {
    if (next->waits_for.fetch_sub(1, std::memory_order_seq_cst) == 1) {  // W2 of wait.hpp
      if (next->waiting != nullptr) {
        wake(*next->waiting);
      } else {
        task_is_ready(caller, next->task);
      }
    }
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
