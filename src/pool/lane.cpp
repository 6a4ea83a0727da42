#include "pool/lane.hpp"

#include <sys/mman.h>

#include <cstring>

#include "base/check.hpp"
#include "klt/hand_over.hpp"
#include "klt/kernel_sleep.hpp"
#include "worker/worker.hpp"

namespace weft::rt {
namespace {

// Pages of their own, so that they lie on the node of the owner, which touches them first.
template <class T>
T** map_array(size_t length) noexcept {
  void* memory = mmap(nullptr, length * sizeof(T*), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  return memory != MAP_FAILED ? static_cast<T**>(memory) : nullptr;
}

// Only its worker may run it: it is pinned, or a front-end's, or runs on the stack of such a unit.
bool stays_here(const Unit* unit) noexcept {
  constexpr uint32_t kStays = flag::kPinned | flag::kFront;
  if (unit_is(unit, kStays)) return true;
  return unit->state.load(std::memory_order_relaxed) != UnitState::kFresh && unit_is(unit->host, kStays);
}

}  // namespace

Lane::Lane(Worker* owner, void* memory)
    : Pool(WEFT_POOL_DEQUE, WEFT_ACCESS_MPMC, true),
      slots(static_cast<Unit**>(memory)),
      mask(kFirstRing - 1),
      first_slots(slots) {
  lane_owner = owner;
  first_fork_start = reinterpret_cast<weft_fork_t**>(slots + kFirstRing) + 1;
  fork_start = first_fork_start;
  fork_end = fork_start + kFirstForks;
  fork_top.store(fork_start, std::memory_order_relaxed);
  fork_low.store(fork_start, std::memory_order_relaxed);
}

Lane::~Lane() {
  unmap_slots();
  unmap_forks();
}

void Lane::unmap_slots() noexcept {
  if (slots != first_slots) WEFT_CHECK(munmap(slots, (size_t{mask} + 1) * sizeof *slots) == 0);
}

void Lane::unmap_forks() noexcept {
  if (fork_start == first_fork_start) return;
  const auto length = static_cast<size_t>(fork_end - fork_start) + 2;
  WEFT_CHECK(munmap(fork_start - 1, length * sizeof *fork_start) == 0);
}

void Lane::grow() noexcept {
  const uint32_t old_size = mask + 1;
  const uint32_t size = old_size * 2;
  Unit** bigger = map_array<Unit>(size);
  WEFT_CHECK(bigger != nullptr && "out of memory for the list of ready units");
  const uint32_t tail = ring_tail.load(std::memory_order_relaxed);
  for (uint32_t i = ring_head.load(std::memory_order_relaxed); i != tail; ++i) {
    bigger[i & (size - 1)] = slots[i & mask];
  }
  unmap_slots();
  slots = bigger;
  mask = size - 1;
}

void Lane::push(Worker* worker, Unit* unit) {
  if (is_listed()) {
    unit->flags.clear(flag::kDirect);
    // It may take its joiner along to another worker.
    if (unit->state.load(std::memory_order_relaxed) != UnitState::kFresh && unit->host != unit) {
      unit->homed.store(true, std::memory_order_relaxed);
    }
    push_shared(unit);
  } else if (worker != nullptr && &worker->lane == this) {
    push_private(unit);
  } else if (stays_here(unit)) {
    push_inbox(unit);
  } else {
    push_shared(unit);
  }
}

void Lane::push_all(Worker* worker, UnitList& units) {
  if (is_listed() || (worker != nullptr && &worker->lane == this)) return Pool::push_all(worker, units);
  lock.lock();
  if (is_listed()) {
    while (Unit* unit = units.pop_front()) list(unit);
  } else {
    uint32_t n = 0;
    units.for_each([&n](Unit*) { ++n; });
    inbox.append(units);
    inbox_count.fetch_add(n, std::memory_order_seq_cst);
  }
  lock.unlock();
  if (tells.load(std::memory_order_seq_cst) != 0) tell();
}

Unit* Lane::pop(Worker* worker) {
  if (__builtin_expect(listing.load(std::memory_order_relaxed), 0) && worker == lane_owner) make_listed(worker);
  if (is_listed()) return has_shared() ? pop_shared() : nullptr;
  if (worker == nullptr || &worker->lane != this) return try_steal();
  if (has_inbox()) drain_inbox();
  if ((++worker->tick & kLookRound) == 0 && has_shared()) {
    if (Unit* unit = pop_shared()) return unit;
  }
  if (Unit* unit = pop_private()) return unit;
  return has_shared() ? pop_shared() : nullptr;
}

size_t Lane::size() {
  const uint32_t ring = ring_tail.load(std::memory_order_relaxed) - ring_head.load(std::memory_order_relaxed) -
                        static_cast<uint32_t>(holes.load(std::memory_order_relaxed));
  return ring + shared_count.load(std::memory_order_relaxed) + inbox_count.load(std::memory_order_relaxed) +
         woken_count();
}

bool Lane::try_claim(Worker* worker, Unit* unit) {
  if (worker != nullptr && &worker->lane == this && remove_private(unit)) return true;
  if (!is_in(unit, this)) return false;
  lock.lock();
  // Under the lock this is the truth; meanwhile it may have been run and come back.
  const bool here =
      is_in(unit, this) && unit->state.load(std::memory_order_relaxed) == UnitState::kFresh;
  if (here) {
    shared.remove(unit);
    mark_out(unit);
    shared_count.fetch_sub(1, std::memory_order_relaxed);
  }
  lock.unlock();
  return here;
}

bool Lane::try_remove(Worker* worker, Unit* unit) {
  if (!is_listed()) {
    if (worker == nullptr || worker != lane_owner) return false;
    if (has_inbox()) drain_inbox();
    if (remove_private(unit)) return true;
    if (!is_in(unit, this)) return false;
  }
  lock.lock();
  const bool here = is_in(unit, this);
  if (here) {
    shared.remove(unit);
    mark_out(unit);
    shared_count.fetch_sub(1, std::memory_order_relaxed);
  }
  lock.unlock();
  return here;
}

void Lane::for_each(void (*f)(weft_unit_t, void*), void* arg) {
  // What has been shared was ready before what is still in the ring.
  lock.lock();
  inbox.for_each([&](Unit* unit) { f(to_handle(unit), arg); });
  shared.for_each([&](Unit* unit) { f(to_handle(unit), arg); });
  lock.unlock();
  const uint32_t tail = ring_tail.load(std::memory_order_relaxed);
  for (uint32_t i = ring_head.load(std::memory_order_relaxed); i != tail; ++i) {
    if (Unit* unit = slots[i & mask]) f(to_handle(unit), arg);
  }
}

void Lane::make_listed(Worker* owner) noexcept {
  lock.lock();
  list_all(owner);
  lock.unlock();
}

// Who starts that worker, or gives it another scheduler, takes the lock as well.
void Lane::list_stopped(Worker* owner) noexcept {
  lock.lock();
  if (owner->state.load(std::memory_order_acquire) == WorkerState::kStopped) list_all(owner);
  lock.unlock();
}

void Lane::list_all(Worker* owner) noexcept {
  if (!is_listed()) {
    // What was in the ring comes first: it was there first, but for what others have put into the inbox since.
    while (Unit* unit = pop_private()) list(unit);
    while (Unit* unit = inbox.pop_front()) {
      inbox_count.fetch_sub(1, std::memory_order_relaxed);
      list(unit);
    }
    take_woken(kNoWoken, [this](Unit* unit) { list(unit); });
    owner->ring = nullptr;
    owner->direct = false;
    // Under the lock, so that a pusher to the inbox sees it.
    listed.store(true, std::memory_order_release);
  }
  listing.store(false, std::memory_order_relaxed);
}

Unit* Lane::take_any() noexcept {
  // What it has published is the oldest.
  if (Unit* unit = has_shared() ? pop_shared() : nullptr; unit != nullptr || is_listed()) return unit;
  drain_pushed();
  return pop_private();
}

void Lane::refuse_woken() noexcept {
  take_woken(kNoWoken, [](Unit* unit) { make_ready(nullptr, unit); });
}

void Lane::list(Unit* unit) noexcept {
  unit->flags.clear(flag::kDirect);
  mark_in(unit, this);
  shared.push_back(unit);
  shared_count.fetch_add(1, std::memory_order_seq_cst);
}

void Lane::forget_units() noexcept {
  std::memset(slots, 0, (size_t{mask} + 1) * sizeof *slots);
  ring_head.store(0, std::memory_order_relaxed);
  ring_tail.store(0, std::memory_order_relaxed);
  barren_tail.store(~uint32_t{0}, std::memory_order_relaxed);
  holes.store(0, std::memory_order_relaxed);
  shared = UnitList{};
  inbox = UnitList{};
  shared_count.store(0, std::memory_order_relaxed);
  inbox_count.store(0, std::memory_order_relaxed);
  if (!is_listed()) woken.store(0, std::memory_order_relaxed);
}

unsigned Lane::publish(Worker* maker, unsigned most) noexcept {
  unsigned done = 0;
  weft_fork_t** low = fork_low.load(std::memory_order_relaxed);
  if (low != fork_top.load(std::memory_order_relaxed)) {
    Unit* unit = make_fork_unit(maker, *low);
    if (unit != nullptr) {
      *low = nullptr;
      fork_low.store(low + 1, std::memory_order_relaxed);
      push_shared(unit);
      ++done;
    }
  }
  uint32_t head = ring_head.load(std::memory_order_relaxed);
  const uint32_t tail = ring_tail.load(std::memory_order_relaxed);
  uint32_t i = head;
  for (; i != tail && done < most; ++i) {
    Unit* unit = slots[i & mask];
    if (unit == nullptr) continue;
    if (stays_here(unit)) continue;
    slots[i & mask] = nullptr;
    count_holes(1);
    push_shared(unit);
    ++done;
  }
  while (head != tail && slots[head & mask] == nullptr) {
    ++head;
    count_holes(-1);
  }
  ring_head.store(head, std::memory_order_relaxed);
  if (done == 0) barren_tail.store(tail, std::memory_order_relaxed);
  return done;
}

Unit* Lane::make_fork_unit(Worker* maker, weft_fork_t* fork) noexcept {
  Unit* unit = maker->units.pop();
  if (unit == nullptr) return nullptr;  // the owner runs it itself
  WEFT_DCHECK(unit_transition_allowed(unit->state.load(std::memory_order_relaxed), UnitState::kFresh));
  unit->fn = fork_unit_main;
  unit->arg = fork;
  unit->pool.store(this, std::memory_order_relaxed);
  unit->joiner.store(0, std::memory_order_relaxed);
  unit_set_header(unit, unit_header_of(UnitState::kFresh, flag::kFork, WEFT_PRIORITY_DEFAULT, false));
  fork->unit = unit;
  return unit;
}

void Lane::settle_forks(Worker* maker) noexcept {
  weft_fork_t** const top = fork_top.load(std::memory_order_relaxed);
  for (weft_fork_t** i = fork_low.load(std::memory_order_relaxed); i != top; ++i) {
    Unit* unit = make_fork_unit(maker, *i);
    WEFT_CHECK(unit != nullptr && "out of memory for work units");
    *i = nullptr;
    if (is_listed()) {
      push_shared(unit);
    } else {
      push_private(unit);
    }
  }
  fork_low.store(fork_start, std::memory_order_relaxed);
  fork_top.store(fork_start, std::memory_order_relaxed);
}

void Lane::open_forks(bool open) noexcept {
  // Beyond fork_end nothing is pushed, and the slot below is always null, so nothing is popped.
  weft_fork_t** const at = open ? fork_start : fork_end + 1;
  fork_low.store(at, std::memory_order_relaxed);
  fork_top.store(at, std::memory_order_relaxed);
}

bool Lane::grow_forks() noexcept {
  weft_fork_t** const top = fork_top.load(std::memory_order_relaxed);
  if (top != fork_end) return top < fork_end;  // beyond: the lane takes none
  const auto used = static_cast<size_t>(top - fork_start);
  const auto low = static_cast<size_t>(fork_low.load(std::memory_order_relaxed) - fork_start);
  weft_fork_t** bigger = map_array<weft_fork_t>(2 * used + 2);
  if (bigger == nullptr) return false;
  std::memcpy(bigger, fork_start - 1, (used + 1) * sizeof *bigger);
  unmap_forks();
  fork_start = bigger + 1;
  fork_end = fork_start + 2 * used;
  fork_low.store(fork_start + low, std::memory_order_relaxed);
  fork_top.store(fork_start + used, std::memory_order_relaxed);
  return true;
}

void Lane::rewind_forks() noexcept {
  if (forks_empty() && fork_top.load(std::memory_order_relaxed) <= fork_end) open_forks(true);
}

void Lane::drain_pushed() noexcept {
  if (inbox_count.load(std::memory_order_relaxed) == 0) return;
  // Whoever pushes meanwhile does not wait for what is done with each.
  UnitList pushed;
  lock.lock();
  pushed.append(inbox);
  lock.unlock();
  uint32_t n = 0;
  while (Unit* unit = pushed.pop_front()) {
    mark_out(unit);
    push_private(unit);
    ++n;
  }
  inbox_count.fetch_sub(n, std::memory_order_relaxed);  // last: nobody sees less than there is
}

void Lane::drain_inbox() noexcept {
  drain_pushed();
  if (woken_count() == 0) return;
  take_woken(0, [this](Unit* unit) {
    // It may have been moved while it waited.
    if (!push_if_own_lane(lane_owner, unit)) make_ready(nullptr, unit);
  });
}

template <class F>
void Lane::take_woken(uint64_t leave, F&& f) noexcept {
  constexpr uint64_t kAddress = (uint64_t{1} << kWokenShift) - 1;
  // Acquire, pairs with the release in push_woken().
  const uint64_t seen = woken.exchange(leave, std::memory_order_acquire);
  auto* newest = seen != kNoWoken ? reinterpret_cast<Waiter*>(seen & kAddress) : nullptr;
  Waiter* oldest = nullptr;
  while (newest != nullptr) {
    Waiter* next = newest->next;
    newest->next = oldest;
    oldest = newest;
    newest = next;
  }
  while (oldest != nullptr) {
    Waiter* const next = oldest->next;
    for (Waiter *each = oldest, *after; each != nullptr; each = after) {
      after = each->group;  // gone once its unit is somebody's
      unit_transition(each->unit, UnitState::kReady);
      f(each->unit);
    }
    oldest = next;
  }
}

bool Lane::push_woken(Waiter* first, Waiter* last, unsigned n) noexcept {
  const auto address = reinterpret_cast<uint64_t>(first);
  uint64_t seen = woken.load(std::memory_order_relaxed);
  uint64_t wanted;
  do {
    const uint64_t count = (seen >> kWokenShift) + n;
    if (seen == kNoWoken || count > UINT16_MAX || address >> kWokenShift != 0) return false;
    last->next = reinterpret_cast<Waiter*>(seen << (64 - kWokenShift) >> (64 - kWokenShift));
    wanted = count << kWokenShift | address;
    // Release, pairs with the acquire in take_woken(). Sequentially consistent as push_shared().
  } while (!woken.compare_exchange_weak(seen, wanted, std::memory_order_seq_cst, std::memory_order_relaxed));
  if (tells.load(std::memory_order_seq_cst) != 0) tell();
  return true;
}

Unit* Lane::pop_shared() noexcept {
  lock.lock();
  Unit* unit = shared.pop_front();
  if (unit != nullptr) {
    mark_out(unit);
    shared_count.fetch_sub(1, std::memory_order_relaxed);
  }
  lock.unlock();
  return unit;
}

void lane_list(Pool& pool, void (*yield)()) noexcept {
  for (;;) {
    // It may have left that lane meanwhile, whose worker may have begun anew, with other pools.
    Worker* const owner = pool.lane_owner;
    if (owner == nullptr) return;
    Lane& lane = owner->lane;
    // Acquire, pairs with the release in make_listed().
    if (lane.listed.load(std::memory_order_acquire)) return;
    lane.listing.store(true, std::memory_order_seq_cst);
    Worker* mine = section_enter();
    const WorkerState state = owner->state.load(std::memory_order_acquire);
    if (mine == owner) {
      lane.make_listed(owner);
    } else if (state == WorkerState::kStopped) {
      pool.list_stopped(owner);
    } else if (state == WorkerState::kNew) {
      // its creator's, who is about to start it
    } else if (Klt* victim = take_begin(owner)) {
      lane.make_listed(owner);
      take_retract(owner, victim);
    } else {
      wake_worker(owner);
    }
    section_leave(mine != nullptr ? guard_worker() : nullptr);
    if (!lane.is_listed()) yield();
  }
}

Unit* Lane::try_steal() noexcept {
  if (!has_shared() || !lock.try_lock()) return nullptr;
  Unit* unit = is_listed() ? nullptr : shared.pop_front();
  if (unit != nullptr) {
    mark_out(unit);
    shared_count.fetch_sub(1, std::memory_order_relaxed);
  }
  lock.unlock();
  return unit;
}

void Lane::push_shared(Unit* unit) noexcept {
  lock.lock();
  mark_in(unit, this);
  shared.push_back(unit);
  // Sequentially consistent: whoever goes to sleep sees the count, or we see the sleeper.
  shared_count.fetch_add(1, std::memory_order_seq_cst);
  lock.unlock();
  if (tells.load(std::memory_order_seq_cst) != 0) tell();
}

void Lane::push_inbox(Unit* unit) noexcept {
  lock.lock();
  if (is_listed()) {
    list(unit);
  } else {
    inbox.push_back(unit);
    inbox_count.fetch_add(1, std::memory_order_seq_cst);
  }
  lock.unlock();
  if (tells.load(std::memory_order_seq_cst) != 0) tell();
}

void Lane::tell() noexcept {
  const uint32_t whom = tells.exchange(0, std::memory_order_seq_cst);
  if ((whom & tell_to::kPreempt) != 0) preempt_unit_waits(lane_owner);
  if ((whom & tell_to::kBlock) != 0) block_unit_waits(lane_owner);
}

void fork_unit_main(void* arg) noexcept {
  auto* fork = static_cast<weft_fork_t*>(arg);
  fork->invoke(fork);
}

}  // namespace weft::rt
