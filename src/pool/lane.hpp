// lane.hpp: a worker's own pool, the default one: work-stealing, without a fence on the owner's side.
//
//   ring    ready units, private to the worker. push at the tail; pop at the head (FIFO); a joiner
//           takes its unit out of the middle. Plain moves.
//   forks   weft_fork_t of the ULT that runs now, private, strictly last in, first out.
//   shared  units that others may take: a list under a lock.
//   inbox   units from elsewhere that only this worker may run: under the same lock.
//   woken   such units that waited, and that another worker has woken: a stack without a lock, in which their Waiters
//           are linked. So whoever wakes them touches neither them nor the lock, and may push many at once.
//
// A lane that somebody else is to consume too (a scheduler of another worker, a thread that pops) is *listed*, for
// good: all of its units are in `shared`, first in, first out, and the ring stays empty.
//
// Units get from the private to the shared part when somebody is hungry: the owner looks at one word
// (its KLT's attention) when it lowers the guard. If it does not do so for a while because its ULT
// computes, the hungry worker does it in its place, by the handshake of klt/README.md ("taking"):
// with the owner's guard down and `worker` published as null, the private part is the taker's.
//
// Rejected: a Chase–Lev deque (a full fence, 6 ns here, at each pop; a join cannot take from its
// middle without a tombstone that has to be reference-counted); a split deque as Lace has it (its
// thieves depend on an owner that calls often enough).
//
// Invariants
//  1. Private parts are touched by the carrier of the worker with its guard up, or by a taker.
//  2. A unit is in the ring, or in a list, or nowhere; never twice. A slot of the ring that holds no unit is
//     null: a unit is in the ring if slots[unit->slot & mask] is that unit.
//  3. All forks in `forks` belong to the stack that runs now: a ULT that suspends turns them into
//     units first, oldest first.
//  4. A unit that only this worker may run is never in `shared` unless the lane is listed.
#pragma once

#include <atomic>
#include <cstdint>

#include "base/spin_lock.hpp"
#include "pool/pool.hpp"
#include "pool/unit_list.hpp"

namespace weft::rt {

inline constexpr uint32_t kLookRound = 63;  // every 64th pop takes from the shared part first

struct Waiter;

// Who wants to be told of a unit that is pushed into a lane.
namespace tell_to {
inline constexpr uint32_t kPreempt = 1, kBlock = 2;
}

struct Lane final : Pool {
  static constexpr uint32_t kFirstRing = 1024;
  static constexpr size_t kFirstForks = 4094;
  static constexpr size_t kFirstBytes = (kFirstRing + kFirstForks + 2) * sizeof(void*);

  // memory: kFirstBytes of zeros in whole pages, which outlive the lane. Nothing is written there before the
  // owner does, so that they lie where it runs.
  Lane(Worker* owner, void* memory);
  ~Lane() override;

  void push(Worker* worker, Unit* unit) override;
  void push_all(Worker* worker, UnitList& units) override;
  Unit* pop(Worker* worker) override;
  size_t size() override;
  bool try_claim(Worker* worker, Unit* unit) override;
  bool try_remove(Worker* worker, Unit* unit) override;
  void for_each(void (*f)(weft_unit_t, void*), void* arg) override;  // owner, or listed
  void list_stopped(Worker* owner) noexcept override;
  void forget_units() noexcept override;  // forks are left where they are

  // ---- owner, guard up (or a taker)
  // With holes.
  uint32_t ring_length() const noexcept {
    return ring_tail.load(std::memory_order_relaxed) - ring_head.load(std::memory_order_relaxed);
  }
  bool ring_full() const noexcept { return ring_length() > mask; }
  size_t ring_room() const noexcept { return mask + size_t{1} - ring_length(); }

  [[gnu::always_inline]] void push_private(Unit* unit) noexcept {
    if (__builtin_expect(ring_full(), 0)) grow();
    push_private_unchecked(unit);
  }

  // Has memory for that many, as far as the ring goes.
  void touch(unsigned n) noexcept {
    constexpr unsigned kPerPage = 4096 / sizeof(Unit*);
    const unsigned length = n < mask ? n : mask + 1;
    for (unsigned i = 0; i < length; i += kPerPage) {
      Unit* volatile& slot = slots[i];
      slot = slot;
    }
  }

  // Precondition: !ring_full().
  [[gnu::always_inline]] void push_private_unchecked(Unit* unit) noexcept {
    const uint32_t tail = ring_tail.load(std::memory_order_relaxed);
    slots[tail & mask] = unit;
    unit->slot.store(tail, std::memory_order_relaxed);
    ring_tail.store(tail + 1, std::memory_order_relaxed);
    if (__builtin_expect(tells.load(std::memory_order_relaxed) != 0, 0)) tell();
  }

  // The same of a fresh unit, which is in no list.
  [[gnu::always_inline]] void push_fresh_unchecked(Unit* unit) noexcept {
    const uint32_t tail = ring_tail.load(std::memory_order_relaxed);
    slots[tail & mask] = unit;
    unit_set_place(unit, tail, 0);
    ring_tail.store(tail + 1, std::memory_order_relaxed);
    if (__builtin_expect(tells.load(std::memory_order_relaxed) != 0, 0)) tell();
  }

  [[gnu::always_inline]] Unit* pop_private() noexcept {
    uint32_t head = ring_head.load(std::memory_order_relaxed);
    const uint32_t tail = ring_tail.load(std::memory_order_relaxed);
    while (head != tail) {
      Unit*& slot = slots[head & mask];
      Unit* unit = slot;
      ++head;
      if (__builtin_expect(unit != nullptr, 1)) {
        slot = nullptr;
        ring_head.store(head, std::memory_order_relaxed);
        return unit;
      }
      count_holes(-1);
    }
    ring_head.store(head, std::memory_order_relaxed);
    return nullptr;
  }

  // The next one that pop_private() would return, if it need not look for it; else null. (An empty ring's
  // slots are null.)
  [[gnu::always_inline]] Unit* front_private() const noexcept {
    return slots[ring_head.load(std::memory_order_relaxed) & mask];
  }
  // Takes that one out. Precondition: front_private() != nullptr.
  [[gnu::always_inline]] void pop_front_private() noexcept {
    const uint32_t head = ring_head.load(std::memory_order_relaxed);
    slots[head & mask] = nullptr;
    ring_head.store(head + 1, std::memory_order_relaxed);
  }
  // Takes that one out and puts another in: the two above, in one, because the compiler reads the fields again behind
  // each store into a slot.
  [[gnu::always_inline]] void rotate_private(Unit* unit) noexcept {
    Unit** const all = slots;
    const uint32_t wrap = mask;
    const uint32_t head = ring_head.load(std::memory_order_relaxed);
    const uint32_t tail = ring_tail.load(std::memory_order_relaxed);
    all[head & wrap] = nullptr;
    ring_head.store(head + 1, std::memory_order_relaxed);
    all[tail & wrap] = unit;  // the same slot where the ring was full
    unit->slot.store(tail, std::memory_order_relaxed);
    ring_tail.store(tail + 1, std::memory_order_relaxed);
    if (__builtin_expect(tells.load(std::memory_order_relaxed) != 0, 0)) tell();
  }
  // The same with one that is anywhere in the ring. Precondition: holds_private(out).
  [[gnu::always_inline]] void rotate_private(Unit* out, Unit* in) noexcept {
    if (__builtin_expect(out->slot.load(std::memory_order_relaxed) == ring_head.load(std::memory_order_relaxed), 1)) {
      return rotate_private(in);
    }
    remove_private(out);
    push_private(in);
  }
  // Whether the unit is in the ring; then it stays there until the owner takes it out.
  [[gnu::always_inline]] bool holds_private(const Unit* unit) const noexcept {
    return slots[unit->slot.load(std::memory_order_relaxed) & mask] == unit;
  }
  // Puts a unit where another one is. Precondition: holds_private(out).
  [[gnu::always_inline]] void exchange_private(Unit* out, Unit* in) noexcept {
    const uint32_t number = out->slot.load(std::memory_order_relaxed);
    slots[number & mask] = in;
    in->slot.store(number, std::memory_order_relaxed);
  }

  // Nobody else may run what is in the ring.
  void set_barren() noexcept { barren_tail.store(ring_tail.load(std::memory_order_relaxed), std::memory_order_relaxed); }
  // What others may run may have come into the ring though its tail is where it was.
  [[gnu::always_inline]] void no_longer_barren() noexcept {
    if (__builtin_expect(barren_tail.load(std::memory_order_relaxed) != ring_tail.load(std::memory_order_relaxed), 1)) return;
    barren_tail.store(ring_head.load(std::memory_order_relaxed) - 1, std::memory_order_relaxed);
  }
  // It comes second, if it is not the first, and whoever was there takes its place. Precondition: holds_private(unit).
  void put_second(Unit* unit) noexcept {
    const uint32_t place = ring_head.load(std::memory_order_relaxed) + 1;
    Unit* const second = slots[place & mask];
    const uint32_t was = unit->slot.load(std::memory_order_relaxed);
    if (second == nullptr || was + 1 == place) return;
    exchange_private(unit, second);
    slots[place & mask] = unit;
    unit->slot.store(place, std::memory_order_relaxed);
  }

  // Takes a unit out of the ring, wherever in it.
  [[gnu::always_inline]] bool remove_private(Unit* unit) noexcept {
    const uint32_t number = unit->slot.load(std::memory_order_relaxed);
    Unit*& slot = slots[number & mask];
    if (__builtin_expect(slot != unit, 0)) return false;
    slot = nullptr;  // in the middle: a hole; whoever pops steps over it
    const uint32_t head = ring_head.load(std::memory_order_relaxed);
    if (__builtin_expect(number == head, 1)) {
      ring_head.store(head + 1, std::memory_order_relaxed);
    } else if (number + 1 == ring_tail.load(std::memory_order_relaxed)) {
      ring_tail.store(number, std::memory_order_relaxed);
      barren_tail.store(head - 1, std::memory_order_relaxed);  // the next push moves it back to where it was
    } else {
      count_holes(1);
    }
    return true;
  }

  bool ring_empty() const noexcept {
    return ring_head.load(std::memory_order_relaxed) == ring_tail.load(std::memory_order_relaxed);
  }
  bool forks_empty() const noexcept {
    return fork_low.load(std::memory_order_relaxed) == fork_top.load(std::memory_order_relaxed);
  }

  // Moves up to `most` stealable units to the shared part; at most one fork, the oldest. Returns how
  // many. `maker` is the worker whose descriptors a fork's unit is made from.
  unsigned publish(Worker* maker, unsigned most) noexcept;
  // Takes those units out of the ring for which f(unit) returns true; it has put them elsewhere then. What lies before
  // number `from` is left alone.
  template <class F>
  void take_some(uint32_t from, F&& f) noexcept {
    const uint32_t head = ring_head.load(std::memory_order_relaxed);
    const uint32_t tail = ring_tail.load(std::memory_order_relaxed);
    for (uint32_t i = from - head > tail - head ? head : from; i != tail; ++i) {
      Unit* unit = slots[i & mask];
      if (unit == nullptr) continue;
      slots[i & mask] = nullptr;
      if (f(unit)) {
        count_holes(1);
      } else {
        slots[i & mask] = unit;
      }
    }
  }
  // Turns every fork into a unit in the ring, oldest first.
  void settle_forks(Worker* maker) noexcept;
  // Only a lane that its worker's main scheduler pops takes forks. Precondition: it holds none.
  void open_forks(bool open) noexcept;
  // Makes room for more. False: the lane takes none, or out of memory.
  bool grow_forks() noexcept;
  // After a pop that found its fork taken: what lay below has become units as well.
  void rewind_forks() noexcept;
  // Moves what waits in the inbox into the ring.
  void drain_inbox() noexcept;

  // ---- any worker
  Unit* pop_shared() noexcept;       // oldest
  Unit* try_steal() noexcept;        // oldest; gives up if somebody else holds the lock
  void push_shared(Unit* unit) noexcept;
  void push_inbox(Unit* unit) noexcept;
  // Whether all units are in `shared`, for several consumers.
  bool is_listed() const noexcept { return listed.load(std::memory_order_relaxed); }
  // The owner, or who has the private part otherwise: makes it so.
  void make_listed(Worker* owner) noexcept;
  // It is its worker's alone again. Precondition: nothing is in it; nobody but the caller uses it.
  void unlist() noexcept { listed.store(false, std::memory_order_release); }
  // The owner, or who has the private part otherwise: the oldest unit of all but those in `woken`; null: none.
  Unit* take_any() noexcept;
  // The same. Nobody looks into it from now on: what is in `woken` goes where it has to go now, and no more comes there. No lock of a pool's is held.
  void refuse_woken() noexcept;
  // The worker looks into it again.
  void allow_woken() noexcept {
    uint64_t refused = kNoWoken;
    if (!is_listed()) woken.compare_exchange_strong(refused, 0, std::memory_order_relaxed);
  }
  bool has_shared() const noexcept { return shared_count.load(std::memory_order_relaxed) != 0; }
  // The owner: the ring holds all that there is. Others may put more elsewhere at any time.
  bool is_all_private() const noexcept {
    return !listing.load(std::memory_order_relaxed) && !is_listed() && !has_shared() && !has_inbox();
  }
  bool has_inbox() const noexcept {
    return inbox_count.load(std::memory_order_relaxed) != 0 || woken_count() != 0;
  }
  // Waiters, newest first, that are no longer in anybody's list: first to last, linked by `next`; `n` with their groups.
  // Precondition: their units may be run by this lane's worker alone, as far as the caller knows. False: not now.
  bool push_woken(Waiter* first, Waiter* last, unsigned n) noexcept;
  // What could be published, seen from outside: may be stale.
  bool has_private() const noexcept {
    if (!forks_empty()) return true;
    const uint32_t tail = ring_tail.load(std::memory_order_relaxed);
    return tail != ring_head.load(std::memory_order_relaxed) &&
           tail != barren_tail.load(std::memory_order_relaxed);
  }

  // The same, not counting one in the ring. Precondition: has_private().
  bool has_private_besides_one() const noexcept {
    return !forks_empty() || ring_tail.load(std::memory_order_relaxed) -
                                     ring_head.load(std::memory_order_relaxed) > 1;
  }

  // Whether an idle worker could be glad of it: not a single unit in the ring, which is about to run where it is. From outside.
  bool has_to_spare() const noexcept {
    return !is_listed() && (has_shared() || (has_private() && has_private_besides_one()));
  }

  // Whether a unit is in it, seen from outside. Forks are their pusher's to run.
  bool has_unit() const noexcept { return !ring_empty() || has_shared() || has_inbox(); }
  // To whom it may concern: a unit waits here.
  [[gnu::noinline, gnu::cold]] void tell() noexcept;

  // private part (invariant 1); relaxed atomics because idle workers look at them
  Unit** slots = nullptr;
  uint32_t mask;
  std::atomic<uint32_t> ring_head{0};
  std::atomic<uint32_t> ring_tail{0};
  std::atomic<uint32_t> tells{0};  // not 0: whoever pushes calls tell(), which clears it; preempt/, block/, any thread
  // The tail when publish() last found nothing that others may run: until that moves on there is none.
  std::atomic<uint32_t> barren_tail{~uint32_t{0}};
  std::atomic<weft_fork_t**> fork_top;  // one past the newest
  std::atomic<weft_fork_t**> fork_low;  // the oldest that is still here
  weft_fork_t** fork_start = nullptr;             // fork_start[-1] is null
  weft_fork_t** fork_end = nullptr;
  std::atomic<int32_t> holes{0};  // slots between head and tail that are null
  // constant
  Unit** first_slots = nullptr;            // until it has grown
  weft_fork_t** first_fork_start = nullptr;

  // any worker
  alignas(64) SpinLock lock;
  UnitList shared;
  UnitList inbox;
  std::atomic<uint32_t> shared_count{0};
  std::atomic<uint32_t> inbox_count{0};
  // The newest; above kWokenShift, how many there are. Or kNoWoken: the lane is listed, or nobody looks into it.
  std::atomic<uint64_t> woken{0};
  std::atomic<bool> listing{false};  // the owner shall make it listed
  std::atomic<bool> listed{false};   // written by who has the private part

 private:
  void count_holes(int32_t change) noexcept {
    holes.store(holes.load(std::memory_order_relaxed) + change, std::memory_order_relaxed);
  }
  void list(Unit* unit) noexcept;  // under the lock
  void drain_pushed() noexcept;    // from the inbox into the ring, but for those in `woken`
  static constexpr unsigned kWokenShift = 48;
  static constexpr uint64_t kNoWoken = 1;
  uint32_t woken_count() const noexcept {
    return static_cast<uint32_t>(woken.load(std::memory_order_relaxed) >> kWokenShift);
  }
  // Takes all of them out, and leaves that value. f(unit) for each, oldest first; it is ready.
  template <class F>
  void take_woken(uint64_t leave, F&& f) noexcept;
  void list_all(Worker* owner) noexcept;  // under the lock
  void grow() noexcept;
  void unmap_slots() noexcept;
  void unmap_forks() noexcept;
  Unit* make_fork_unit(Worker* maker, weft_fork_t* fork) noexcept;
};

// Makes a lane listed, and returns when it is. `yield` is called in between. Guard down.
void lane_list(Pool& pool, void (*yield)()) noexcept;

// The function of a unit that is made from a fork.
void fork_unit_main(void* fork) noexcept;

}  // namespace weft::rt
