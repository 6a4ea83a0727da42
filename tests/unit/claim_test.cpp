// Claim against pop, steal, publish, yield_to, cancel, migrate, free and reuse: every interleaving.
//
// The private part of a lane is touched by one thread at a time and the shared part under a lock, so
// whole operations in every order are everything that can happen; where a caller does something in
// several steps (a join that looks at the unit, then at its pool), others come between the steps.
// Two real lanes and a handful of real descriptors are compared, after each operation, with a model
// of plain arrays that says where every unit is and what each operation must return. States met
// before, with as many steps to go, are not walked again: same bytes, same future.
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <chrono>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>

#include "pool/lane.hpp"
#include "support/bare_workers.hpp"
#include "worker/worker.hpp"

namespace weft::rt {
namespace {

constexpr int kUnits = 4;
constexpr int kForks = 3;
constexpr uint32_t kMaxSlots = 16;
constexpr uintptr_t kSomeWaiter = 64;

// ---- the model -----------------------------------------------------------------------------------

struct Sequence {
  int8_t count = 0;
  int8_t item[7] = {};
  void push(int x) { item[count++] = static_cast<int8_t>(x); }
  int at(int x) const {
    for (int i = 0; i < count; ++i) {
      if (item[i] == x) return i;
    }
    return -1;
  }
  bool has(int x) const { return at(x) >= 0; }
  void erase(int i) {
    std::memmove(item + i, item + i + 1, static_cast<size_t>(count - i - 1));
    item[--count] = 0;
  }
  bool remove(int x) {
    const int i = at(x);
    if (i >= 0) erase(i);
    return i >= 0;
  }
  int pop_front() {
    if (count == 0) return -1;
    const int x = item[0];
    erase(0);
    return x;
  }
  int pop_back() {
    if (count == 0) return -1;
    const int x = item[count - 1];
    erase(count - 1);
    return x;
  }
};

enum class ForkState : uint8_t { kUnused, kOffered, kUnit };

struct Model {
  Sequence ring[2], shared[2], inbox[2], cache[2];
  UnitState state[kUnits] = {};
  uint8_t starts[kUnits] = {};    // of this incarnation
  bool cancelled[kUnits] = {};
  bool pinned[kUnits] = {};       // to lane 0
  bool homed[kUnits] = {};
  int8_t home[kUnits] = {};
  int8_t host[kUnits] = {};       // once it runs
  bool has_joiner[kUnits] = {};
  int8_t joins[2] = {-1, -1};     // the worker is between the two steps of joining this unit
  int8_t join_pool[2] = {};
  Sequence forks;                 // of worker 0's ULT, oldest first: all that have not been popped
  ForkState fork_state[kForks] = {};
  int8_t fork_unit[kForks] = {};
  int8_t made_of[kUnits] = {};    // which fork; -1: none
};

enum class Op : uint8_t {
  kCreate, kCreatePinned, kCreateForeign, kPublishOne, kPublishMany, kTakerPublish, kPop, kLookRound,
  kSteal, kJoinFast, kJoinBegin, kJoinEnd, kYieldTo, kReady, kEnd, kFree, kCancel, kMigrate, kForkPush,
  kForkPop, kSettle,
};
constexpr const char* kNames[] = {
    "create", "create_pinned", "create_foreign", "publish_one", "publish_many", "taker_publish", "pop",
    "look_round", "steal", "join_fast", "join_begin", "join_end", "yield_to", "ready", "end", "free",
    "cancel", "migrate", "fork_push", "fork_pop", "settle"};

struct Step {
  Op op;
  int8_t worker;
  int8_t unit;
};

// ---- the real thing, and how to go back to where it was -------------------------------------------

struct LaneImage {
  char bytes[sizeof(Lane)];
  Unit* slots[kMaxSlots];
  weft_fork_t* forks[kForks + 3];
  Unit* cache_head;
  unsigned cache_count;
};

struct Image {
  LaneImage lane[2];
  char line0[kUnits][64];
  weft_fork_t forks[kForks];
  Model model;
};

struct World {
  World() {
    for (unsigned i = 0; i < 2; ++i) {
      workers[i].index = i;
      shrink(workers[i].lane);
    }
    for (int i = 0; i < kUnits; ++i) {
      give_to_cache(i % 2, i);
      model.made_of[i] = -1;
      // What a descriptor's earlier life may have left behind.
      units[i].token.store(kTokenResumed);
      units[i].homed.store(true);
      units[i].joiner.store(kJoinDone);
    }
    for (auto& fork : forks) fork = {};
  }

  // As Lane::grow() has it.
  static Unit** map_slots(size_t length) {
    void* memory = mmap(nullptr, length * sizeof(Unit*), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) std::abort();
    return static_cast<Unit**>(memory);
  }

  // Two slots, so that it grows soon; and positions that are about to wrap round.
  static void shrink(Lane& lane) {
    lane.mask = 1;
    lane.ring_head.store(~uint32_t{0} - 1);
    lane.ring_tail.store(~uint32_t{0} - 1);
    lane.barren_tail.store(12345);
  }

  Lane& lane(int i) { return workers[i].lane; }
  Unit* unit(int i) { return &units[i]; }
  int index(const Unit* unit) const { return unit == nullptr ? -1 : static_cast<int>(unit - units); }

  // Not UnitCache::push(): debug builds hold descriptors back there.
  void give_to_cache(int w, int u) {
    units[u].next = workers[w].units.head;
    workers[w].units.head = &units[u];
    ++workers[w].units.count;
    model.cache[w].push(u);
  }

  void save(Image& to) {
    for (int i = 0; i < 2; ++i) {
      LaneImage& image = to.lane[i];
      Lane& from = lane(i);
      Unit** const slots = from.slots;
      from.slots = nullptr;  // where they are does not matter
      std::memcpy(image.bytes, static_cast<void*>(&from), sizeof from);
      from.slots = slots;
      for (uint32_t s = 0; s < kMaxSlots; ++s) image.slots[s] = s <= from.mask ? slots[s] : nullptr;
      std::memcpy(image.forks, from.fork_start - 1, sizeof image.forks);
      image.cache_head = workers[i].units.head;
      image.cache_count = workers[i].units.count;
    }
    for (int u = 0; u < kUnits; ++u) std::memcpy(to.line0[u], static_cast<void*>(&units[u]), 64);
    std::memcpy(to.forks, forks, sizeof forks);
    to.model = model;
  }

  void restore(const Image& from) {
    for (int i = 0; i < 2; ++i) {
      const LaneImage& image = from.lane[i];
      Lane& to = lane(i);
      Unit** slots = to.slots;
      const uint32_t mask = to.mask;
      std::memcpy(static_cast<void*>(&to), image.bytes, sizeof to);
      if (to.mask != mask) {
        if (slots != to.first_slots) munmap(slots, (mask + 1) * sizeof(Unit*));
        slots = to.mask == 1 ? to.first_slots : map_slots(to.mask + 1);
      }
      to.slots = slots;
      std::memcpy(slots, image.slots, (to.mask + 1) * sizeof(Unit*));
      std::memcpy(to.fork_start - 1, image.forks, sizeof image.forks);
      workers[i].units.head = image.cache_head;
      workers[i].units.count = image.cache_count;
    }
    for (int u = 0; u < kUnits; ++u) std::memcpy(static_cast<void*>(&units[u]), from.line0[u], 64);
    std::memcpy(forks, from.forks, sizeof forks);
    model = from.model;
  }

  const weft_test::BareWorkers<2> workers;
  Unit units[kUnits];
  weft_fork_t forks[kForks];
  Model model;
  std::string wrong;  // what the last operation or check found
};

// ---- what the callers of a lane do, on both -------------------------------------------------------

// As in join.cpp.
constexpr uint64_t kPlain = unit_header_of(UnitState::kFresh, flag::kClaimable, 0, false);
bool plain(const Unit* unit) { return (unit_header(unit) & kHeaderButPriority) == kPlain; }

void nothing(void*) {}

class Player {
 public:
  explicit Player(World& world) : w_(world), m_(world.model) {}

  bool enabled(const Step& s) const {
    const bool free_to_act = m_.joins[s.worker] < 0;
    const int u = s.unit;
    const bool live = m_.state[u] != UnitState::kFree;
    switch (s.op) {
      case Op::kCreate:
      case Op::kCreatePinned:
      case Op::kCreateForeign:
        return free_to_act && m_.cache[s.worker].count > (s.worker == 0 ? offered() : 0);
      case Op::kPublishOne:
      case Op::kPublishMany:
        return free_to_act && has_descriptor_for(s.worker, s.worker);
      case Op::kPop:
      case Op::kLookRound:
      case Op::kSteal:
        return free_to_act;
      case Op::kTakerPublish:  // takes lane 0's worker: its guard must be down
        return free_to_act && m_.joins[0] < 0 && has_descriptor_for(0, 1);
      case Op::kJoinFast:
      case Op::kJoinBegin:
        // One holder of a handle; a fork's unit has none.
        return free_to_act && live && !m_.has_joiner[u] && m_.made_of[u] < 0 && m_.joins[0] != u &&
               m_.joins[1] != u;
      case Op::kJoinEnd: return !free_to_act;
      case Op::kYieldTo: return free_to_act && live;
      case Op::kReady: return free_to_act && m_.state[u] == UnitState::kRunning && !hosts_somebody(u);
      case Op::kEnd: return m_.state[u] == UnitState::kRunning && !hosts_somebody(u);
      case Op::kFree:
        return free_to_act && m_.state[u] == UnitState::kTerminated && m_.made_of[u] < 0 &&
               m_.joins[1 - s.worker] != u;
      case Op::kCancel: return live && !m_.cancelled[u];
      case Op::kMigrate: return live && !m_.pinned[u] && !(m_.homed[u] && m_.home[u] == s.worker);
      case Op::kForkPush:
        return free_to_act && unused_fork() >= 0 && m_.cache[0].count > offered();
      case Op::kForkPop: return free_to_act && m_.forks.count > 0 && !fork_pop_waits();
      case Op::kSettle: return free_to_act;
    }
    return false;
  }

  void play(const Step& s) {
    const int w = s.worker;
    const int u = s.unit;
    switch (s.op) {
      case Op::kCreate: return create(w, false, false);
      case Op::kCreatePinned: return create(w, true, false);
      case Op::kCreateForeign: return create(w, false, true);
      case Op::kPublishOne: return publish(w, w, 1);
      case Op::kPublishMany: return publish(w, w, 8);
      case Op::kTakerPublish: return publish(0, 1, 8);
      case Op::kPop: return pop(w, false);
      case Op::kLookRound: return pop(w, true);
      case Op::kSteal: return start(w_.lane(1 - w).pop(&w_.workers[w]), m_.shared[1 - w].pop_front());
      case Op::kJoinFast: return join_fast(w, u);
      case Op::kJoinBegin: return join_begin(w, u);
      case Op::kJoinEnd: return join_end(w);
      case Op::kYieldTo: return yield_to(w, u);
      case Op::kReady: return ready(w, u);
      case Op::kEnd: return end(u);
      case Op::kFree: return recycle(w, u);
      case Op::kCancel: return cancel(u);
      case Op::kMigrate: return migrate(u, w);
      case Op::kForkPush: return fork_push();
      case Op::kForkPop: return fork_pop();
      case Op::kSettle: return settle();
    }
  }

  // Everything that is in the lanes comes out of them, once.
  void drain() {
    int expected = 0;
    int found = 0;
    for (int i = 0; i < 2; ++i) {
      if (i == 0) settle();
      expected += m_.ring[i].count + m_.shared[i].count + m_.inbox[i].count;
      while (m_.inbox[i].count > 0) m_.ring[i].push(m_.inbox[i].pop_front());
    }
    for (int i = 0; i < 2; ++i) {
      for (w_.workers[i].tick = 0; Unit* unit = w_.lane(i).pop(&w_.workers[i]); ++found) {
        if (unit_state(unit) == UnitState::kRunning) return wrong("handed out twice");
        unit->state.store(UnitState::kRunning);
      }
      if (w_.lane(i).size() != 0) return wrong("an empty lane has a size");
    }
    if (found != expected) wrong("a unit is lost, or there twice");
  }

  void check() {
    for (int i = 0; i < 2; ++i) {
      check_ring(i);
      check_list(w_.lane(i).shared, m_.shared[i], "shared list");
      check_list(w_.lane(i).inbox, m_.inbox[i], "inbox");
      Lane& lane = w_.lane(i);
      if (lane.shared_count.load() != static_cast<uint32_t>(m_.shared[i].count)) wrong("shared_count");
      if (lane.inbox_count.load() != static_cast<uint32_t>(m_.inbox[i].count)) wrong("inbox_count");
      check_cache(i);
    }
    for (int u = 0; u < kUnits; ++u) check_unit(u);
    check_forks();
  }

 private:
  void wrong(const char* what) {
    if (w_.wrong.empty()) w_.wrong = what;
  }

  // ---- operations

  void create(int w, bool pinned, bool foreign) {
    const int u = m_.cache[w].pop_back();
    Unit* unit = w_.workers[w].units.pop();
    if (w_.index(unit) != u) return wrong("the stock gave another descriptor");
    const uint16_t flags = pinned ? flag::kPinned : flag::kClaimable;
    unit->fn = nothing;
    unit->arg = nullptr;
    const int home = pinned || foreign ? 0 : w;
    unit->pool.store(&w_.lane(home));
    unit->joiner.store(0);
    unit_set_header(unit, unit_header_of(UnitState::kFresh, flags, WEFT_PRIORITY_DEFAULT, pinned));
    m_.state[u] = UnitState::kFresh;
    m_.starts[u] = 0;
    m_.cancelled[u] = m_.has_joiner[u] = false;
    m_.pinned[u] = m_.homed[u] = pinned;
    m_.home[u] = static_cast<int8_t>(home);
    m_.made_of[u] = -1;
    push(home, foreign ? -1 : w, u);
  }

  // To this lane, by that worker (-1: a foreign thread).
  void push(int lane, int by, int u) {
    w_.lane(lane).push(by < 0 ? nullptr : &w_.workers[by], w_.unit(u));
    (lane == by ? m_.ring : stays(u) ? m_.inbox : m_.shared)[lane].push(u);
  }

  bool stays(int u) const {
    return m_.pinned[u] || (m_.state[u] != UnitState::kFresh && m_.pinned[m_.host[u]]);
  }

  void publish(int lane, int maker, int most) {
    int expected = 0;
    for (int i = 0; i < m_.forks.count && lane == 0; ++i) {
      const int f = m_.forks.item[i];
      if (m_.fork_state[f] != ForkState::kOffered) continue;
      if (const int u = model_fork_unit(maker, f); u >= 0) m_.shared[0].push(u), ++expected;
      break;
    }
    Sequence stay;
    while (m_.ring[lane].count > 0) {
      const int u = m_.ring[lane].pop_front();
      const bool goes = expected < most && !stays(u);
      (goes ? m_.shared[lane] : stay).push(u);
      expected += goes ? 1 : 0;
    }
    m_.ring[lane] = stay;
    if (static_cast<int>(w_.lane(lane).publish(&w_.workers[maker], static_cast<unsigned>(most))) !=
        expected) {
      wrong("publish: how many");
    }
  }

  // A stock that is empty would get new ones from the kernel: the walk keeps clear of that.
  int offered() const {
    int n = 0;
    for (int i = 0; i < m_.forks.count; ++i) {
      n += m_.fork_state[m_.forks.item[i]] == ForkState::kOffered ? 1 : 0;
    }
    return n;
  }
  bool has_descriptor_for(int lane, int maker) const {
    if (lane != 0 || offered() == 0) return true;
    return maker != 0 ? m_.cache[maker].count > 0 : m_.cache[0].count >= offered();
  }

  void pop(int w, bool look_round) {
    while (m_.inbox[w].count > 0) m_.ring[w].push(m_.inbox[w].pop_front());
    Sequence& ring = m_.ring[w];
    Sequence& shared = m_.shared[w];
    const bool from_shared = ring.count == 0 || (look_round && shared.count > 0);
    const int expected = (from_shared ? shared : ring).pop_front();
    w_.workers[w].tick = look_round ? 63 : 0;
    Unit* unit = w_.lane(w).pop(&w_.workers[w]);
    w_.workers[w].tick = 0;
    start(unit, expected);
  }

  // What a scheduler does with what it has picked.
  void start(Unit* unit, int expected) {
    if (w_.index(unit) != expected) return wrong("another unit than expected");
    if (expected < 0) return;
    const bool fresh = m_.state[expected] == UnitState::kFresh;
    if (fresh && m_.cancelled[expected]) {
      run(expected, expected);
      m_.starts[expected] = 0;
      return end(expected);
    }
    run(expected, fresh ? expected : m_.host[expected]);
  }

  void run(int u, int host) {
    Unit* unit = w_.unit(u);
    if (m_.state[u] == UnitState::kFresh && ++m_.starts[u] > 1) wrong("started twice");
    if (unit_state(unit) != m_.state[u]) wrong("its state has changed while it waited");
    unit->host = w_.unit(host);
    unit_transition(unit, UnitState::kRunning);
    m_.state[u] = UnitState::kRunning;
    m_.host[u] = static_cast<int8_t>(host);
  }

  void run_claimed(int w, int u) {
    w_.unit(u)->joiner.store(kJoinTaken);
    m_.has_joiner[u] = true;
    run(u, pinned_joiner(w, u));
  }

  // If a pinned ULT runs on worker 0, it is the joiner there.
  int pinned_joiner(int w, int u) const {
    for (int i = 0; i < kUnits && w == 0; ++i) {
      if (i != u && m_.pinned[i] && m_.state[i] == UnitState::kRunning) return i;
    }
    return u;
  }

  bool hosts_somebody(int u) const {
    for (int i = 0; i < kUnits; ++i) {
      const bool started = m_.state[i] == UnitState::kRunning || m_.state[i] == UnitState::kReady;
      if (i != u && started && m_.host[i] == u) return true;
    }
    return false;
  }

  bool claimable(int u) const {
    return m_.state[u] == UnitState::kFresh && !m_.cancelled[u] && !m_.homed[u] && !m_.pinned[u];
  }

  void join_fast(int w, int u) {
    const bool expected = claimable(u) && m_.ring[w].has(u);
    Unit* unit = w_.unit(u);
    const bool got = plain(unit) && unit->joiner.load() == 0 && w_.lane(w).remove_private(unit);
    if (got != expected) return wrong("join: claim from the ring");
    if (!got) return;
    m_.ring[w].remove(u);
    run_claimed(w, u);
  }

  void join_begin(int w, int u) {
    Unit* unit = w_.unit(u);
    if ((plain(unit) && unit->joiner.load() == 0) != claimable(u)) return wrong("join: may it be claimed");
    if (m_.state[u] == UnitState::kTerminated) return;
    m_.join_pool[w] = claimable(u) ? m_.home[u] : int8_t{-1};
    m_.joins[w] = static_cast<int8_t>(u);
  }

  void join_end(int w) {
    const int u = m_.joins[w];
    const int pool = m_.join_pool[w];
    m_.joins[w] = -1;
    Unit* unit = w_.unit(u);
    if (pool >= 0) {
      const bool expected = (pool == w && m_.ring[w].has(u)) ||
                            (m_.state[u] == UnitState::kFresh && m_.shared[pool].has(u));
      if (w_.lane(pool).try_claim(&w_.workers[w], unit) != expected) return wrong("try_claim");
      if (expected) {
        if (m_.state[u] != UnitState::kFresh) return wrong("claimed a unit that is not fresh");
        if (!m_.ring[w].remove(u)) m_.shared[pool].remove(u);
        return run_claimed(w, u);
      }
    }
    m_.has_joiner[u] = true;
    if (m_.state[u] != UnitState::kTerminated) unit->joiner.store(kSomeWaiter);
  }

  void yield_to(int w, int u) {
    Unit* unit = w_.unit(u);
    const int home = m_.home[u];
    const bool fresh = m_.state[u] == UnitState::kFresh;
    const bool in_ring = m_.ring[w].has(u);
    const bool in_shared = fresh && (m_.shared[w].has(u) || m_.shared[home].has(u));
    const bool got = w_.lane(w).try_claim(&w_.workers[w], unit) ||
                     w_.lane(home).try_claim(&w_.workers[w], unit);
    if (got != (in_ring || in_shared)) return wrong("yield_to: taken or not");
    if (!got) return;
    m_.ring[w].remove(u) || m_.shared[w].remove(u) || m_.shared[home].remove(u);
    start(unit, u);
  }

  // As required_pool() in ready.cpp.
  void ready(int w, int u) {
    unit_transition(w_.unit(u), UnitState::kReady);
    m_.state[u] = UnitState::kReady;
    const int host = m_.host[u];
    const int lane = m_.pinned[host] ? m_.home[host] : m_.homed[u] ? m_.home[u] : w;
    push(lane, w, u);
  }

  void end(int u) {
    Unit* unit = w_.unit(u);
    unit_transition(unit, UnitState::kTerminated);
    unit->joiner.store(kJoinDone);
    m_.state[u] = UnitState::kTerminated;
  }

  // As recycle_unit().
  void recycle(int w, int u) {
    Unit* unit = w_.unit(u);
    if (unit_needs_clear(unit)) unit_clear_cold(unit);
    unit_transition(unit, UnitState::kFree);
    m_.state[u] = UnitState::kFree;
    m_.made_of[u] = -1;
    m_.cancelled[u] = false;
    w_.give_to_cache(w, u);
  }

  // As weft_cancel(): the resume is remembered.
  void cancel(int u) {
    Unit* unit = w_.unit(u);
    unit_mark(unit);
    unit->requests.fetch_or(kCancelRequest);
    if (m_.state[u] != UnitState::kTerminated) unit->token.store(kTokenResumed);
    m_.cancelled[u] = true;
  }

  void migrate(int u, int lane) {
    w_.unit(u)->pool.store(&w_.lane(lane));
    w_.unit(u)->homed.store(true);
    m_.home[u] = static_cast<int8_t>(lane);
    m_.homed[u] = true;
  }

  // ---- forks: pushed and popped by one ULT on worker 0

  int unused_fork() const {
    for (int f = 0; f < kForks; ++f) {
      if (m_.fork_state[f] == ForkState::kUnused) return f;
    }
    return -1;
  }

  void fork_push() {
    const int f = unused_fork();
    Lane& lane = w_.lane(0);
    weft_fork_t** top = lane.fork_top.load();
    *top = &w_.forks[f];
    lane.fork_top.store(top + 1);
    m_.forks.push(f);
    m_.fork_state[f] = ForkState::kOffered;
  }

  // Somebody has it and has not ended: the pop would suspend.
  bool fork_pop_waits() const {
    const int f = m_.forks.item[m_.forks.count - 1];
    if (m_.fork_state[f] != ForkState::kUnit) return false;
    const UnitState state = m_.state[m_.fork_unit[f]];
    return state == UnitState::kRunning || state == UnitState::kReady;
  }

  // As weft_fork_pop().
  void fork_pop() {
    const int f = m_.forks.pop_back();
    const bool inline_expected = m_.fork_state[f] == ForkState::kOffered;
    m_.fork_state[f] = ForkState::kUnused;
    Lane& lane = w_.lane(0);
    weft_fork_t* fork = &w_.forks[f];
    weft_fork_t** top = lane.fork_top.load() - 1;
    if ((*top == fork) != inline_expected) return wrong("fork_pop: still here, or not");
    if (inline_expected) return lane.fork_top.store(top);
    lane.rewind_forks();
    if (lane.fork_top.load() != lane.fork_start) return wrong("fork_pop: room for forks is lost");
    const int u = m_.fork_unit[f];
    Unit* unit = w_.unit(u);
    if (fork->unit != unit) return wrong("fork_pop: another unit");
    if (m_.state[u] == UnitState::kTerminated) return recycle(0, u);
    const bool ours = lane.try_claim(&w_.workers[0], unit);
    const bool migrated = m_.home[u] != 0;
    if (!ours && !migrated) return wrong("fork_pop: its fresh unit was not found");
    if (!(m_.ring[0].remove(u) || m_.shared[0].remove(u))) return wrong("fork_pop: found nowhere");
    unit_transition(unit, UnitState::kRunning);
    unit_transition(unit, UnitState::kTerminated);
    recycle(0, u);
  }

  // -1: no descriptor.
  int model_fork_unit(int maker, int f) {
    const int u = m_.cache[maker].pop_back();
    if (u < 0) return -1;
    m_.fork_state[f] = ForkState::kUnit;
    m_.fork_unit[f] = static_cast<int8_t>(u);
    m_.made_of[u] = static_cast<int8_t>(f);
    m_.state[u] = UnitState::kFresh;
    m_.starts[u] = 0;
    m_.cancelled[u] = m_.pinned[u] = m_.homed[u] = m_.has_joiner[u] = false;
    m_.home[u] = 0;
    return u;
  }

  void settle() {
    for (int i = 0; i < m_.forks.count; ++i) {
      const int f = m_.forks.item[i];
      if (m_.fork_state[f] == ForkState::kOffered) m_.ring[0].push(model_fork_unit(0, f));
    }
    w_.lane(0).settle_forks(&w_.workers[0]);
  }

  // ---- checks

  void check_ring(int i) {
    Lane& lane = w_.lane(i);
    const uint32_t head = lane.ring_head.load();
    const uint32_t tail = lane.ring_tail.load();
    if (tail - head > lane.mask + 1) return wrong("the ring is longer than it is");
    int n = 0;
    bool stealable = i == 0 && !lane.forks_empty();
    for (uint32_t s = head; s != tail; ++s) {
      const Unit* unit = lane.slots[s & lane.mask];
      if (unit == nullptr) continue;
      if (n >= m_.ring[i].count || m_.ring[i].item[n] != w_.index(unit)) return wrong("ring: contents");
      if (unit->slot.load() != s) return wrong("ring: a unit does not know its place");
      stealable = stealable || !stays(m_.ring[i].item[n]);
      ++n;
    }
    if (n != m_.ring[i].count) return wrong("ring: a unit is missing");
    if (stealable && !lane.has_private()) wrong("a hungry worker would not see what could be stolen");
  }

  void check_list(const UnitList& list, const Sequence& expected, const char* which) {
    int n = 0;
    const Unit* before = nullptr;
    for (const Unit* unit = list.front(); unit != nullptr; before = unit, unit = unit->next) {
      if (n >= expected.count || expected.item[n] != w_.index(unit)) return wrong(which);
      if (unit->prev != before) return wrong("a list's links");
      ++n;
    }
    if (n != expected.count || (n > 0 && list.back() != before)) wrong(which);
  }

  void check_cache(int i) {
    const Sequence& expected = m_.cache[i];
    int n = expected.count;
    for (const Unit* unit = w_.workers[i].units.head; unit != nullptr; unit = unit->next) {
      if (n == 0 || expected.item[--n] != w_.index(unit)) return wrong("a stock of descriptors");
    }
    if (n != 0) wrong("a stock of descriptors");
  }

  void check_unit(int u) {
    const Unit* unit = w_.unit(u);
    if (unit_state(unit) != m_.state[u]) wrong("a unit's state");
    int places = m_.state[u] == UnitState::kRunning || m_.state[u] == UnitState::kTerminated ? 1 : 0;
    for (int i = 0; i < 2; ++i) {
      places += m_.ring[i].has(u) + m_.shared[i].has(u) + m_.inbox[i].has(u) + m_.cache[i].has(u);
      if (is_in(unit, &w_.lane(i)) != m_.shared[i].has(u)) wrong("`inside`");
      if (m_.shared[i].has(u) && stays(u)) wrong("a unit that must stay is open to all");
    }
    if (places != 1) wrong("not in exactly one place");
    if (m_.starts[u] > 1) wrong("started twice");
    if (m_.state[u] == UnitState::kFree) return;
    if (unit_cancelled(unit) != m_.cancelled[u]) wrong("cancelled in an earlier life");
    if (unit->homed.load() != m_.homed[u]) wrong("`homed` of an earlier life");
    const bool no_token = m_.state[u] == UnitState::kFresh && !m_.cancelled[u];
    if (no_token && unit->token.load() != kTokenNone) wrong("a resume of an earlier life");
  }

  void check_forks() {
    Lane& lane = w_.lane(0);
    weft_fork_t** low = lane.fork_low.load();
    int offered = 0;
    for (int i = 0; i < m_.forks.count; ++i) {
      const int f = m_.forks.item[i];
      if (m_.fork_state[f] != ForkState::kOffered) continue;
      if (low + offered >= lane.fork_top.load() || low[offered] != &w_.forks[f]) return wrong("forks");
      ++offered;
    }
    if (lane.fork_top.load() - low != offered) wrong("forks: how many");
  }

  World& w_;
  Model& m_;
};

// ---- the walk ------------------------------------------------------------------------------------

uint64_t hash_of(const Image& image) {
  const char* bytes = reinterpret_cast<const char*>(&image);
  uint64_t h = 0x9e3779b97f4a7c15u;
  for (size_t i = 0; i + 8 <= sizeof image; i += 8) {
    uint64_t word;
    std::memcpy(&word, bytes + i, 8);
    h = (h ^ word) * 0xff51afd7ed558ccdu;
    h ^= h >> 32;
  }
  return h;
}

class Walk {
 public:
  explicit Walk(std::vector<Step> steps) : steps_(std::move(steps)), player_(world_) {}

  void prepare(const std::vector<Step>& steps) {
    for (const Step& step : steps) {
      ASSERT_TRUE(player_.enabled(step));
      player_.play(step);
      player_.check();
      trace_.push_back(step);
    }
    ASSERT_EQ(world_.wrong, "") << trace();
  }

  void run(int depth) {
    Image image;
    std::memset(static_cast<void*>(&image), 0, sizeof image);
    world_.save(image);
    go(depth, image);
    testing::Test::RecordProperty("states", std::to_string(seen_.size()));
    testing::Test::RecordProperty("operations", std::to_string(played_));
  }

 private:
  void go(int depth, const Image& from) {
    for (const Step& step : steps_) {
      if (!player_.enabled(step)) continue;
      trace_.push_back(step);
      player_.play(step);
      player_.check();
      ++played_;
      if (world_.wrong.empty()) visit(depth - 1);
      if (!world_.wrong.empty()) {
        if (!told_) ADD_FAILURE() << world_.wrong << "\n  after" << trace();
        told_ = true;
        return;
      }
      trace_.pop_back();
      world_.restore(from);
    }
  }

  void visit(int depth) {
    Image image;
    std::memset(static_cast<void*>(&image), 0, sizeof image);
    world_.save(image);
    const auto [at, is_new] = seen_.try_emplace(hash_of(image), depth);
    if (!is_new && at->second >= depth) return;
    at->second = depth;
    if (is_new) {
      player_.drain();
      if (!world_.wrong.empty()) return;
      world_.restore(image);
    }
    if (depth > 0) go(depth, image);
  }

  std::string trace() const {
    std::string text;
    for (const Step& s : trace_) {
      text += std::string(" ") + kNames[static_cast<int>(s.op)] + "(w" + std::to_string(s.worker) +
              ",u" + std::to_string(s.unit) + ")";
    }
    return text;
  }

  std::vector<Step> steps_;
  World world_;
  Player player_;
  std::vector<Step> trace_;
  std::unordered_map<uint64_t, int> seen_;
  uint64_t played_ = 0;
  bool told_ = false;
};

std::vector<Step> steps(std::initializer_list<Op> by_worker_0, std::initializer_list<Op> by_worker_1,
                        std::initializer_list<Op> with_units_0, std::initializer_list<Op> with_units_1,
                        int units) {
  std::vector<Step> all;
  for (const Op op : by_worker_0) all.push_back({op, 0, 0});
  for (const Op op : by_worker_1) all.push_back({op, 1, 0});
  for (int8_t u = 0; u < units; ++u) {
    for (const Op op : with_units_0) all.push_back({op, 0, u});
    for (const Op op : with_units_1) all.push_back({op, 1, u});
  }
  return all;
}

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || WEFT_DEBUG
constexpr int kLess = 1;
#else
constexpr int kLess = 0;
#endif

// Everything, from nothing.
TEST(Claim, EverythingAgainstEverything) {
  using enum Op;
  Walk walk(steps({kCreate, kCreatePinned, kCreateForeign, kPublishMany, kPop, kLookRound, kSteal, kJoinEnd},
                  {kCreate, kTakerPublish, kPop, kSteal, kJoinEnd},
                  {kJoinFast, kJoinBegin, kYieldTo, kReady, kEnd, kFree, kCancel, kMigrate},
                  {kJoinBegin, kReady, kMigrate, kFree}, kUnits));
  walk.run(7 - kLess);
}

// Longer, with the units already there: three in the ring, so that a claim takes out of its middle.
TEST(Claim, AgainstPopStealAndPublish) {
  using enum Op;
  Walk walk(steps({kCreate, kPublishOne, kPublishMany, kPop, kJoinEnd}, {kTakerPublish, kSteal, kJoinEnd},
                  {kJoinFast, kJoinBegin, kReady}, {kJoinBegin, kReady}, 3));
  walk.prepare({{kCreate, 0, 0}, {kCreate, 0, 0}, {kCreate, 1, 0}});
  walk.run(9 - kLess);
}

// A unit that goes round: stolen, run, back, ended, freed, created again under the old handle's address.
TEST(Claim, AgainstFreeAndReuse) {
  using enum Op;
  Walk walk(steps({kCreate, kPublishMany, kPop, kJoinEnd}, {kSteal, kCreate, kPop, kJoinEnd},
                  {kJoinFast, kJoinBegin, kYieldTo, kEnd, kFree}, {kJoinBegin, kReady, kFree}, kUnits));
  walk.prepare({{kCreate, 0, 0}, {kPublishMany, 0, 0}, {kSteal, 1, 0}});
  walk.run(8 - kLess);
}

TEST(Claim, AgainstCancelAndMigrate) {
  using enum Op;
  Walk walk(steps({kCreate, kPublishMany, kPop, kSteal, kJoinEnd}, {kSteal, kPop, kJoinEnd},
                  {kJoinFast, kJoinBegin, kReady, kEnd, kCancel, kMigrate},
                  {kJoinBegin, kYieldTo, kReady, kMigrate}, 3));
  walk.prepare({{kCreate, 0, 0}, {kCreate, 1, 0}});
  walk.run(7 - kLess);
}

TEST(Claim, OnTheStackOfAPinnedUnit) {
  using enum Op;
  Walk walk(steps({kCreate, kCreatePinned, kPublishMany, kPop, kLookRound, kJoinEnd},
                  {kTakerPublish, kCreatePinned, kSteal, kPop},
                  {kJoinFast, kJoinBegin, kYieldTo, kReady, kEnd}, {kReady}, kUnits));
  walk.run(8 - kLess);
}

TEST(Claim, OfForks) {
  using enum Op;
  Walk walk(steps({kForkPush, kForkPop, kSettle, kPublishOne, kPublishMany, kPop, kCreate},
                  {kTakerPublish, kSteal, kPop}, {kJoinFast, kReady, kEnd, kFree, kCancel},
                  {kReady, kEnd}, kUnits));
  walk.run(8 - kLess);
}

// try_claim() looks once without the lock: what it saw may be over when it has the lock. Here the lock
// is held while it waits, and the unit goes away, comes back as one that has run, or is another by then.
TEST(Claim, LooksAgainUnderTheLock) {
  enum { kStays, kGone, kBackReady, kInOtherLane, kReused, kPicked, kReusedElsewhere, kOutcomes };
  int late = 0;
  for (int round = 0; round < 20 * kOutcomes; ++round) {
    const int outcome = round % kOutcomes;
    const weft_test::BareWorkers<2> workers;
    Worker& owner = workers[0];
    Worker& other = workers[1];
    Unit unit;
    unit_transition(&unit, UnitState::kFresh);
    owner.lane.push_shared(&unit);
    bool got = false;
    owner.lane.lock.lock();
    std::thread claimer([&] { got = owner.lane.try_claim(&other, &unit); });
    std::this_thread::sleep_for(std::chrono::microseconds(200));  // it most likely waits for the lock now
    const auto take = [&] {
      owner.lane.shared.remove(&unit);
      mark_out(&unit);
      owner.lane.shared_count.fetch_sub(1);
      if (outcome == kPicked) return;  // not started yet
      unit_transition(&unit, UnitState::kRunning);
    };
    const auto put_back = [&] {
      mark_in(&unit, &owner.lane);
      owner.lane.shared.push_back(&unit);
      owner.lane.shared_count.fetch_add(1);
    };
    if (outcome != kStays) take();
    if (outcome == kBackReady || outcome == kInOtherLane) unit_transition(&unit, UnitState::kReady);
    if (outcome == kBackReady) put_back();
    if (outcome == kInOtherLane) other.lane.push_shared(&unit);
    if (outcome == kReused || outcome == kReusedElsewhere) {
      unit_transition(&unit, UnitState::kTerminated);
      unit_transition(&unit, UnitState::kFresh);
    }
    if (outcome == kReused) put_back();
    if (outcome == kReusedElsewhere) other.lane.push_shared(&unit);
    owner.lane.lock.unlock();
    claimer.join();
    // A claimer that was late finds the same. But its first look, without the lock, may have come just while the unit was out: then it
    // finds it now.
    if (outcome == kReused && !got) {
      ++late;
      got = owner.lane.try_claim(&other, &unit);
    }
    ASSERT_EQ(got, outcome == kStays || outcome == kReused) << outcome;
    ASSERT_EQ(owner.lane.size(), outcome == kBackReady ? 1u : 0u) << outcome;
    const bool elsewhere = outcome == kInOtherLane || outcome == kReusedElsewhere;
    ASSERT_EQ(other.lane.size(), elsewhere ? 1u : 0u) << outcome;
  }
  EXPECT_LT(late, 20);  // not always: then it would be the lock that it never waited for
}

}  // namespace
}  // namespace weft::rt
