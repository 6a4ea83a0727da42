#include "pool/list_pool.hpp"

#include <bit>
#include <new>
#include <type_traits>

#include "base/check.hpp"
#include "worker/worker.hpp"

namespace weft::rt {
namespace {

constexpr uint32_t kForeign = UINT32_MAX;  // any thread without a worker

// Tells users of a pool apart. Never 0, which is nobody.
uint32_t pool_user(const Worker* worker) noexcept {
  return worker != nullptr ? worker->index + 1 : kForeign;
}

bool has_run(const Unit* unit) noexcept {
  return unit->state.load(std::memory_order_relaxed) != UnitState::kFresh;
}

}  // namespace

// ---- orders

bool FifoOrder::remove(Unit* unit) noexcept {
  list_.remove(unit);
  return true;
}

void LifoOrder::push(Unit* unit, uint32_t) noexcept {
  if (has_run(unit)) {
    list_.push_front(unit);
  } else {
    list_.push_back(unit);
  }
}

bool LifoOrder::remove(Unit* unit) noexcept {
  list_.remove(unit);
  return true;
}

// A unit that has run before gets where its pusher comes last, and where others come first; but not one that gives its place to what it has made.
void DequeOrder::push(Unit* unit, uint32_t who) noexcept {
  const bool comes_last = has_run(unit) && unit->slot.load(std::memory_order_relaxed) != kAsMadeLast;
  unit->slot.store(who, std::memory_order_relaxed);
  if (comes_last) {
    list_.push_front(unit);
  } else {
    list_.push_back(unit);
  }
}

Unit* DequeOrder::pop(uint32_t who) noexcept {
  Unit* newest = list_.back();
  if (newest == nullptr) return nullptr;
  // Nor does who has put one last take that before what others have pushed.
  Unit* oldest = list_.front();
  const bool own = newest->slot.load(std::memory_order_relaxed) == who ||
                   (oldest->slot.load(std::memory_order_relaxed) == who && has_run(oldest));
  return own ? list_.pop_back() : list_.pop_front();
}

bool DequeOrder::remove(Unit* unit) noexcept {
  list_.remove(unit);
  return true;
}

void PriorityOrder::push(Unit* unit, uint32_t) noexcept {
  const uint32_t level = unit->priority;
  unit->slot.store(level, std::memory_order_relaxed);
  lists_[level].push_back(unit);
  set_waiting(waiting_ | 1u << level);
}

// Relaxed: a tick's handler looks, which comes again.
void PriorityOrder::set_waiting(uint32_t levels) noexcept {
  std::atomic_ref(waiting_).store(levels, std::memory_order_relaxed);
}

int PriorityOrder::highest() const noexcept {
  const uint32_t waiting = std::atomic_ref(const_cast<uint32_t&>(waiting_)).load(std::memory_order_relaxed);
  return static_cast<int>(std::bit_width(waiting)) - 1;
}

Unit* PriorityOrder::pop(uint32_t) noexcept {
  if (waiting_ == 0) return nullptr;
  const uint32_t level = static_cast<uint32_t>(std::bit_width(waiting_)) - 1;
  Unit* unit = lists_[level].pop_front();
  removed(level);
  return unit;
}

bool PriorityOrder::remove(Unit* unit) noexcept {
  const uint32_t level = unit->slot.load(std::memory_order_relaxed);
  if ((waiting_ >> level) != 1) return false;
  lists_[level].remove(unit);
  removed(level);
  return true;
}

void PriorityOrder::take(Unit* unit) noexcept {
  const uint32_t level = unit->slot.load(std::memory_order_relaxed);
  lists_[level].remove(unit);
  removed(level);
}

void PriorityOrder::removed(uint32_t level) noexcept {
  if (lists_[level].empty()) set_waiting(waiting_ & ~(1u << level));
}

// ---- membership

ListPool::ListPool(weft_pool_kind_t kind, weft_access_t access) : Pool(kind, access, true) {}

// Relaxed: `inside` is only believed by who has the list of the pool that it names, and is written
// by nobody else.
void ListPool::entered(Unit* unit) noexcept { mark_in(unit, this); }
void ListPool::left(Unit* unit) noexcept { mark_out(unit); }

// Not asked of Unit::pool: that is the home, which a migration changes while the unit is in here.
bool ListPool::holds_fresh(Unit* unit) const noexcept {
  return is_in(unit, this) && !has_run(unit);
}

bool ListPool::serves(const Worker* worker) const noexcept {
  if (worker == nullptr) return false;
  const uint64_t bit = uint64_t{1} << (worker->index % 64);
  return (consumers[worker->index / 64].load(std::memory_order_relaxed) & bit) != 0;
}

// ---- SharedListPool

template <class Order>
void SharedListPool<Order>::count(size_t change) noexcept {
  // Relaxed: a pusher that looks for sleepers, and a sleeper that looks here once more, each have a
  // full fence in between.
  count_.store(count_.load(std::memory_order_relaxed) + change, std::memory_order_relaxed);
}

template <class Order>
void SharedListPool<Order>::push_locked(Worker* worker, Unit* unit) noexcept {
  order_.push(unit, pool_user(worker));
  entered(unit);
  count(1);
}

template <class Order>
Unit* SharedListPool<Order>::pop_locked(Worker* worker) noexcept {
  Unit* unit = order_.pop(pool_user(worker));
  if (unit != nullptr) {
    left(unit);
    count(static_cast<size_t>(-1));
  }
  return unit;
}

template <class Order>
void SharedListPool<Order>::push(Worker* worker, Unit* unit) {
  lock_.lock();
  push_locked(worker, unit);
  lock_.unlock();
}

template <class Order>
Unit* SharedListPool<Order>::pop(Worker* worker) {
  if (count_.load(std::memory_order_relaxed) == 0) return nullptr;
  lock_.lock();
  Unit* unit = pop_locked(worker);
  lock_.unlock();
  return unit;
}

template <class Order>
bool SharedListPool<Order>::try_claim(Worker* worker, Unit* unit) {
  return serves(worker) && claim_fresh(unit);
}

template <class Order>
bool SharedListPool<Order>::claim_fresh(Unit* unit) {
  if (!is_in(unit, this)) return false;
  lock_.lock();
  const bool claimed = holds_fresh(unit) && order_.remove(unit);
  if (claimed) {
    left(unit);
    count(static_cast<size_t>(-1));
  }
  lock_.unlock();
  return claimed;
}

template <class Order>
int SharedListPool<Order>::highest() noexcept {
  if constexpr (std::is_same_v<Order, PriorityOrder>) return order_.highest();
  return Pool::highest();
}

template <class Order>
bool SharedListPool<Order>::try_remove(Worker*, Unit* unit) {
  lock_.lock();
  const bool here = is_in(unit, this);
  if (here) {
    order_.take(unit);
    left(unit);
    count(static_cast<size_t>(-1));
  }
  lock_.unlock();
  return here;
}

template <class Order>
void SharedListPool<Order>::for_each(void (*f)(weft_unit_t, void*), void* arg) {
  lock_.lock();
  order_.for_each([&](Unit* unit) { f(to_handle(unit), arg); });
  lock_.unlock();
}

template <class Order>
void SharedListPool<Order>::forget_units() noexcept {
  order_ = Order{};
  count_.store(0, std::memory_order_relaxed);
}

// ---- OwnedListPool. What is in the inbox is not marked as inside: it is not in order_ yet.

template <class Order>
void OwnedListPool<Order>::push(Worker* worker, Unit* unit) {
  const uint32_t who = pool_user(worker);
  // Relaxed: only the consumer itself finds its own number here.
  if (worker != nullptr && owner_.load(std::memory_order_relaxed) == who) {
    if (inbox_count_.load(std::memory_order_relaxed) != 0) drain();  // it was here earlier
    push_own(unit, who);
    return;
  }
  lock_.lock();
  unit->slot.store(who, std::memory_order_relaxed);
  inbox_.push_back(unit);
  inbox_count_.store(inbox_count_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  lock_.unlock();
}

template <class Order>
void OwnedListPool<Order>::push_own(Unit* unit, uint32_t who) noexcept {
  order_.push(unit, who);
  entered(unit);
  count_.store(count_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
}

template <class Order>
void OwnedListPool<Order>::drain() noexcept {
  lock_.lock();
  size_t moved = 0;
  for (; Unit* unit = inbox_.pop_front(); ++moved) {
    push_own(unit, unit->slot.load(std::memory_order_relaxed));
  }
  // After the other count has grown. Release, pairs with the acquire in size().
  inbox_count_.store(inbox_count_.load(std::memory_order_relaxed) - moved,
                      std::memory_order_release);
  lock_.unlock();
}

template <class Order>
Unit* OwnedListPool<Order>::pop(Worker* worker) {
  const uint32_t who = pool_user(worker);
  if (owner_.load(std::memory_order_relaxed) != who) owner_.store(who, std::memory_order_relaxed);
  if (inbox_count_.load(std::memory_order_relaxed) != 0) drain();
  Unit* unit = order_.pop(who);
  if (unit == nullptr) return nullptr;
  left(unit);
  count_.store(count_.load(std::memory_order_relaxed) - 1, std::memory_order_relaxed);
  return unit;
}

template <class Order>
size_t OwnedListPool<Order>::size() {
  // The inbox first: what has left it is in the other count.
  const size_t inbox = inbox_count_.load(std::memory_order_acquire);
  return inbox + count_.load(std::memory_order_relaxed);
}

template <class Order>
bool OwnedListPool<Order>::try_claim(Worker* worker, Unit* unit) {
  if (!serves(worker) || owner_.load(std::memory_order_relaxed) != pool_user(worker)) return false;
  if (inbox_count_.load(std::memory_order_relaxed) != 0) drain();
  if (!holds_fresh(unit) || !order_.remove(unit)) return false;
  left(unit);
  count_.store(count_.load(std::memory_order_relaxed) - 1, std::memory_order_relaxed);
  return true;
}

template <class Order>
int OwnedListPool<Order>::highest() noexcept {
  if constexpr (std::is_same_v<Order, PriorityOrder>) {
    if (inbox_count_.load(std::memory_order_relaxed) == 0) return order_.highest();
  }
  return Pool::highest();  // of what is in the inbox only the consumer knows
}

// The caller consumes.
template <class Order>
bool OwnedListPool<Order>::try_remove(Worker* worker, Unit* unit) {
  owner_.store(pool_user(worker), std::memory_order_relaxed);
  if (inbox_count_.load(std::memory_order_relaxed) != 0) drain();
  if (!is_in(unit, this)) return false;
  order_.take(unit);
  left(unit);
  count_.store(count_.load(std::memory_order_relaxed) - 1, std::memory_order_relaxed);
  return true;
}

template <class Order>
void OwnedListPool<Order>::for_each(void (*f)(weft_unit_t, void*), void* arg) {
  order_.for_each([&](Unit* unit) { f(to_handle(unit), arg); });
  lock_.lock();
  inbox_.for_each([&](Unit* unit) { f(to_handle(unit), arg); });
  lock_.unlock();
}

template <class Order>
void OwnedListPool<Order>::forget_units() noexcept {
  order_ = Order{};
  inbox_ = UnitList{};
  count_.store(0, std::memory_order_relaxed);
  inbox_count_.store(0, std::memory_order_relaxed);
  owner_.store(0, std::memory_order_relaxed);
}

template class SharedListPool<FifoOrder>;  // hosted_pool.cpp has one

// ---- creation

namespace {

template <class Order>
Pool* create_in(weft_pool_kind_t kind, weft_access_t access) noexcept {
  if (access == WEFT_ACCESS_SPMC || access == WEFT_ACCESS_MPMC) {
    return new (std::nothrow) SharedListPool<Order>(kind, access);
  }
  return new (std::nothrow) OwnedListPool<Order>(kind, access);
}

}  // namespace

Pool* pool_create(weft_pool_kind_t kind, weft_access_t access) noexcept {
  switch (kind) {
    case WEFT_POOL_FIFO: return create_in<FifoOrder>(kind, access);
    case WEFT_POOL_LIFO: return create_in<LifoOrder>(kind, access);
    case WEFT_POOL_DEQUE: return create_in<DequeOrder>(kind, access);
    case WEFT_POOL_PRIORITY: return create_in<PriorityOrder>(kind, access);
  }
  return nullptr;
}

}  // namespace weft::rt
