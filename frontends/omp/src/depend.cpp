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
// end tasks. Who has to wait puts an *edge* of its own node into the list of whom it waits for, by compare-and-swap; who ends takes
// the whole list and leaves kEnded there, by one exchange. So each edge is either in the list that is taken, or was not put there: the
// one before had ended. A node is there at least until nobody is left whom it waits for; so an edge needs no reference.
//
// tests/model/depend.pml is a model of this.
//
// References: of the task, or of who waits; and one for each list of the parent's table that it is in.
#include "depend.hpp"

#include <algorithm>
#include <array>
#include <memory>
#include <new>
#include <utility>
#include <vector>

#include "memory.hpp"
#include "task_end.hpp"
#include "wait.hpp"
#include "yielding_lock.hpp"

namespace weft::omp {

namespace {

// Under sets_lock.
struct MutexSet {
  bool taken = false;
  std::vector<DepNode*> line;
};
using MutexSets = std::vector<std::shared_ptr<MutexSet>>;

struct Edge {
  DepNode* to;
  Edge* next;
};
constexpr size_t kEdges = 4;      // in the node
constexpr size_t kMoreEdges = 7;  // in each further piece of memory
struct MoreEdges {
  MoreEdges* next;
  std::array<Edge, kMoreEdges> edges;
};
static_assert(sizeof(MoreEdges) <= 128);

Edge ended_mark;
Edge* const kEnded = &ended_mark;

constexpr int32_t kUnarmed = 1 << 30;

}  // namespace

struct DepNode {
  std::atomic<int32_t> waits_for{kUnarmed};  // nodes; and 1 until it has its sets, if there are any; less kUnarmed once armed
  std::atomic<uint32_t> references{1};
  std::atomic<Edge*> successors{nullptr};    // kEnded: nobody is added any more
  Task* task = nullptr;                      // constant; null: a taskwait
  Thread* waiting = nullptr;                 // constant; null: the task is made ready
  ompt_data_t* seen = nullptr;               // constant: a tool's, of the task or the taskwait
  std::unique_ptr<MutexSets> sets;           // constant once armed: those that it has to itself while it runs; null: none
  // the parent's thread, until it is armed
  uint32_t edges_used = 0;
  int32_t linked = 0;  // of these, in lists
  MoreEdges* more = nullptr;
  std::array<Edge, kEdges> edges;
};
static_assert(sizeof(DepNode) <= 192);

namespace {

// The parent's thread, before others know the node.
void hold_own(DepNode* node) {
  node->references.store(node->references.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
}

// Acquire: what it did.
bool has_ended(const DepNode* node) { return node->successors.load(std::memory_order_acquire) == kEnded; }

// Nodes that it holds: most often one.
class Nodes {
 public:
  bool empty() const { return x_count == 0; }
  DepNode** begin() { return x_most == 1 ? &x_one : x_many; }
  DepNode** end() { return begin() + x_count; }

  // The caller's reference goes there.
  void add(Thread* thread, DepNode* node) {
    if (x_count == x_most) make_room(thread);
    begin()[x_count++] = node;
  }
  void clear(Thread* thread) {
    for (DepNode* node : *this) node_release(thread, node);
    free_many();
  }
  void swap(Nodes& other) {
    std::swap(x_count, other.x_count);
    std::swap(x_most, other.x_most);
    std::swap(x_many, other.x_many);
  }

 private:
  // Those that have ended nobody waits for; if all have, so have the ones before them. So a list is as long as tasks are under way.
  void make_room(Thread* thread) {
    DepNode** kept = std::partition(begin(), end(), [](DepNode* node) { return !has_ended(node); });
    for (DepNode** node = kept; node != end(); ++node) node_release(thread, *node);
    x_count = static_cast<uint32_t>(kept - begin());
    if (x_count <= x_most / 2) return;
    auto** many = static_cast<DepNode**>(block_from_system(2 * x_most * sizeof(DepNode*)));
    std::copy(begin(), end(), many);
    if (x_most != 1) std::free(x_many);
    x_many = many;
    x_most *= 2;
  }
  void free_many() {
    if (x_most != 1) std::free(x_many);
    x_count = 0;
    x_most = 1;
  }

  uint32_t x_count = 0;
  uint32_t x_most = 1;
  union {
    DepNode* x_one = nullptr;
    DepNode** x_many;
  };
};

struct Entry {
  const void* address = nullptr;  // null: it is free
  DepKind kind = DepKind::kOut;   // of the newest
  Nodes before;                   // all of the newest wait for these
  Nodes newest;
  std::shared_ptr<MutexSet> set;  // of the newest, if they exclude each other
};

void forget(Thread* thread, Entry& entry) {
  entry.before.clear(thread);
  entry.newest.clear(thread);
  entry.set = nullptr;
  entry.address = nullptr;
}

}  // namespace

// By open addressing. Entries are taken out all at once.
struct DepTable {
  static constexpr size_t kFew = 4;

  std::array<Entry, kFew> few;
  Entry* entries = few.data();
  size_t places = kFew;  // a power of two
  size_t used = 0;
  Nodes all;  // the last one of all memory, which addresses that are new here wait for too

  Entry& entry(Thread* thread, const void* address) {
    Entry* found = place(address);
    if (found->address != nullptr) return *found;
    if (4 * (used + 1) > 3 * places) {
      grow();
      found = place(address);
    }
    ++used;
    found->address = address;
    found->kind = DepKind::kOut;
    for (DepNode* node : all) {
      node->references.fetch_add(1, std::memory_order_relaxed);
      found->newest.add(thread, node);
    }
    return *found;
  }

  // Nobody is left to be waited for.
  void clear(Thread* thread) {
    all.clear(thread);
    for (size_t i = 0; used != 0 && i < places; ++i) {
      if (entries[i].address == nullptr) continue;
      forget(thread, entries[i]);
      --used;
    }
    if (entries == few.data()) return;  // what has been large may not be so again, and all of it would be gone through
    delete[] entries;
    entries = few.data();
    places = kFew;
  }

 private:
  Entry* place(const void* address) const {
    constexpr uint64_t kSpread = 0x9e3779b97f4a7c15u;  // 2^64 by the golden ratio: high bits depend on all
    size_t i = (reinterpret_cast<uintptr_t>(address) * kSpread) >> 32;
    while (true) {
      Entry& entry = entries[i & (places - 1)];
      if (entry.address == address || entry.address == nullptr) return &entry;
      ++i;
    }
  }

  void grow() {
    Entry* old = std::exchange(entries, new Entry[2 * places]);
    const size_t old_places = std::exchange(places, 2 * places);
    for (size_t i = 0; i < old_places; ++i) {
      if (old[i].address != nullptr) std::swap(*place(old[i].address), old[i]);
    }
    if (old != few.data()) delete[] old;
  }
};

namespace {

// With a tool: a task does not end while the tool is told that others wait for it.
YieldingLock told_lock;

Edge* edge_of(Thread* thread, DepNode* node) {
  const uint32_t used = node->edges_used++;
  if (used < kEdges) return &node->edges[used];
  const size_t at = (used - kEdges) % kMoreEdges;
  if (at == 0) node->more = new (block_acquire(*thread, sizeof(MoreEdges))) MoreEdges{node->more, {}};
  return &node->more->edges[at];
}

// False: it had ended, and what it did can be seen.
bool put_behind(DepNode* first, Edge* edge) {
  Edge* list = first->successors.load(std::memory_order_acquire);
  do {
    if (list == kEnded) return false;
    edge->next = list;
    // Release: the edge. Acquire: as above.
  } while (!first->successors.compare_exchange_weak(list, edge, std::memory_order_acq_rel, std::memory_order_acquire));
  return true;
}

void link(Thread* thread, Nodes& before, DepNode* then) {
  for (DepNode* first : before) {
    if (first == then || has_ended(first)) continue;
    Edge* edge = edge_of(thread, then);
    edge->to = then;
    bool linked;
    if (const bool told = tool::there(); __builtin_expect(told, 0)) {
      const Locked hold(told_lock);
      linked = put_behind(first, edge);
      if (linked) tool::dependence(*first->seen, *then->seen);
    } else {
      linked = put_behind(first, edge);
    }
    if (linked) ++then->linked;
  }
}

void wait_behind(Thread* thread, Entry& entry, DepNode* node, DepKind kind, bool inserted) {
  const bool together = kind == entry.kind && kind != DepKind::kOut && !entry.newest.empty();
  link(thread, together ? entry.before : entry.newest, node);
  if (!inserted) return;
  if (!together) {
    entry.before.clear(thread);
    // With an `out` nobody runs at the same time: nobody asks for the ones before.
    if (kind == DepKind::kOut) {
      entry.newest.clear(thread);
    } else {
      entry.before.swap(entry.newest);
    }
    entry.kind = kind;
    entry.set = kind == DepKind::kMutexInOutSet ? std::make_shared<MutexSet>() : nullptr;
  }
  if (entry.set != nullptr) node->sets->push_back(entry.set);
  hold_own(node);
  entry.newest.add(thread, node);
}

// A taskwait has no code to exclude others from: it waits for all of a set.
DepKind kind_of(const Depend& depend, bool inserted) {
  return depend.kind == DepKind::kMutexInOutSet && !inserted ? DepKind::kOut : depend.kind;
}

// ---- sets

YieldingLock sets_lock;

// True: it has all its sets. False: it is in line.
bool take_sets(DepNode* node) {
  for (const auto& set : *node->sets) {
    if (!set->taken) continue;
    set->line.push_back(node);
    return false;
  }
  for (const auto& set : *node->sets) set->taken = true;
  return true;
}

// It leaves them. Those are appended that have got theirs by that.
void leave_sets(DepNode* node, std::vector<DepNode*>& ready) {
  const Locked lock(sets_lock);
  std::vector<DepNode*> line;
  for (const auto& set : *node->sets) {
    set->taken = false;
    line.insert(line.end(), set->line.begin(), set->line.end());
    set->line.clear();
  }
  for (DepNode* next : line) {
    if (take_sets(next)) ready.push_back(next);
  }
}

// So much less that it waits for. True: that was all; otherwise whoever is the last may be at it now, and then it is gone.
bool waits_for_less(DepNode* node, int32_t less) {
  const bool exclusive = node->sets != nullptr;
  // Release: what the one before did; acquire: what all of them did. seq_cst: W2 of wait.hpp.
  const int32_t left = node->waits_for.fetch_sub(less, std::memory_order_seq_cst) - less;
  if (!exclusive || left != 1) return left == 0;
  {
    const Locked lock(sets_lock);
    if (!take_sets(node)) return false;
  }
  node->waits_for.store(0, std::memory_order_seq_cst);
  return true;
}

DepTable* table_create(Thread* thread) { return new (block_acquire(*thread, sizeof(DepTable))) DepTable; }

}  // namespace

DepNode* node_create(Task* parent, Task* task, size_t n, const Depend* depends, bool inserted, Thread* waiting,
                     ompt_data_t* seen) {
  Thread* thread = parent->member->thread;
  if (parent->dependences == nullptr) {
    if (!inserted) return nullptr;
    parent->dependences = table_create(thread);
  } else if (tasks_left(*parent) == (task != nullptr ? 1 : 0)) {
    parent->dependences->clear(thread);  // nobody is left to be waited for
    if (!inserted) return nullptr;
  }
  DepTable& table = *parent->dependences;
  auto* node = new (block_acquire(*thread, sizeof(DepNode))) DepNode;
  node->task = task;
  node->waiting = waiting;
  node->seen = task != nullptr ? &task->seen.data : seen;
  // Before anybody whom it waits for knows it.
  for (size_t i = 0; i < n; ++i) {
    if (kind_of(depends[i], inserted) == DepKind::kMutexInOutSet && node->sets == nullptr) {
      node->sets = std::make_unique<MutexSets>();
    }
  }
  for (size_t i = 0; i < n; ++i) {
    if (depends[i].address != nullptr) continue;
    for (size_t at = 0; at < table.places; ++at) {
      Entry& entry = table.entries[at];
      if (entry.address != nullptr) wait_behind(thread, entry, node, DepKind::kOut, inserted);
    }
    link(thread, table.all, node);
    if (inserted) {
      table.all.clear(thread);
      hold_own(node);
      table.all.add(thread, node);
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
    if (!before) wait_behind(thread, table.entry(thread, address), node, kind, inserted);
  }
  return node;
}

bool node_arm(DepNode* node) {
  return waits_for_less(node, kUnarmed - node->linked - (node->sets != nullptr ? 1 : 0));
}

bool node_is_ready(const DepNode* node) { return node->waits_for.load(std::memory_order_seq_cst) == 0; }

namespace {

// What begins when a node waits for nobody any more: from then on the node may be gone.
class Begins {
 public:
  explicit Begins(const DepNode* node) : x_waiting(node->waiting), x_task(node->task) {}
  void begin(Thread* caller) const {
    if (x_waiting != nullptr) {
      wake(*x_waiting);
    } else {
      task_is_ready(caller, x_task);
    }
  }

 private:
  Thread* x_waiting;
  Task* x_task;
};

}  // namespace

void dependences_met(Thread* thread, DepNode* node) {
  Edge* taken;
  if (const bool told = tool::there(); __builtin_expect(told, 0)) {
    const Locked hold(told_lock);
    taken = node->successors.exchange(kEnded, std::memory_order_acq_rel);
  } else {
    taken = node->successors.exchange(kEnded, std::memory_order_acq_rel);
  }
  if (node->sets != nullptr) {
    std::vector<DepNode*> ready;
    leave_sets(node, ready);
    for (DepNode* next : ready) {
      const Begins begins(next);
      next->waits_for.store(0, std::memory_order_seq_cst);
      begins.begin(thread);
    }
  }
  // The oldest first.
  Edge* first = nullptr;
  while (taken != nullptr) {
    Edge* next = std::exchange(taken->next, first);
    first = std::exchange(taken, next);
  }
  while (first != nullptr) {
    DepNode* next = first->to;
    first = first->next;
    const Begins begins(next);
    if (waits_for_less(next, 1)) begins.begin(thread);
  }
}

void node_release(Thread* thread, DepNode* node) {
  if (node->references.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
  while (node->more != nullptr) {
    block_release(thread, std::exchange(node->more, node->more->next), sizeof(MoreEdges));
  }
  node->~DepNode();
  block_release(thread, node, sizeof(DepNode));
}

void dependences_destroy(Thread* thread, DepTable* table) {
  table->clear(thread);
  table->~DepTable();
  block_release(thread, table, sizeof(DepTable));
}

}  // namespace weft::omp
