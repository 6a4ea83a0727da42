// list_pool.hpp: FIFO, LIFO, deque and priority pools, made of linked lists.
//
// Two ways to share one:
//   SharedListPool   one list under one lock: SPMC, MPMC
//   OwnedListPool    one consumer (PRIV, SPSC, MPSC): a list that only the consumer touches, without a
//                    lock, and an inbox under a lock for what others push
// The consumer of an OwnedListPool is the worker that pops. So a PRIV pool bears being pushed to by
// another worker (a mutex unlocked there wakes a unit of this pool), and only pays for a lock then.
//
// Rejected: lock-free queues. A joiner takes its unit out of the middle, and a pool that wants
// speed is a lane.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "base/spin_lock.hpp"
#include "pool/pool.hpp"
#include "pool/unit_list.hpp"

namespace weft::rt {

// ---- orders: which unit is next. Whoever uses one has it to itself. `who` numbers the worker: see
// pool_user(). A unit that has run before goes to the end of the line everywhere, so that a yield
// lets others run.

class FifoOrder {
 public:
  void push(Unit* unit, uint32_t) noexcept { list_.push_back(unit); }
  Unit* pop(uint32_t) noexcept { return list_.pop_front(); }
  bool remove(Unit* unit) noexcept;
  void take(Unit* unit) noexcept { list_.remove(unit); }  // whichever it is
  template <class F>
  void for_each(F&& f) const { list_.for_each(f); }

 private:
  UnitList list_;
};

class LifoOrder {
 public:
  void push(Unit* unit, uint32_t) noexcept;
  Unit* pop(uint32_t) noexcept { return list_.pop_back(); }
  bool remove(Unit* unit) noexcept;
  void take(Unit* unit) noexcept { list_.remove(unit); }  // whichever it is
  template <class F>
  void for_each(F&& f) const { list_.for_each(f); }

 private:
  UnitList list_;
};

// In Unit::slot of what has run, before it is pushed into a deque: it comes where its pusher looks first, as if it were fresh.
inline constexpr uint32_t kAsMadeLast = UINT32_MAX - 1;

// A pool in that order; lanes call themselves deques, too.
inline bool is_deque(const Pool* pool) noexcept {
  return pool->kind == WEFT_POOL_DEQUE && pool->builtin && pool->lane_owner.load(std::memory_order_relaxed) == nullptr;
}

// The newest unit to whoever pushed it, the oldest to others. Unit::slot says who pushed it.
class DequeOrder {
 public:
  void push(Unit* unit, uint32_t who) noexcept;
  Unit* pop(uint32_t who) noexcept;
  bool remove(Unit* unit) noexcept;
  void take(Unit* unit) noexcept { list_.remove(unit); }  // whichever it is
  template <class F>
  void for_each(F&& f) const { list_.for_each(f); }

 private:
  UnitList list_;
};

// Unit::slot says in which list it is: its priority may change meanwhile.
class PriorityOrder {
 public:
  void push(Unit* unit, uint32_t) noexcept;
  Unit* pop(uint32_t) noexcept;
  // False also where something of higher priority waits: a joiner does not overtake that.
  bool remove(Unit* unit) noexcept;
  void take(Unit* unit) noexcept;
  template <class F>
  void for_each(F&& f) const {
    for (int level = WEFT_PRIORITIES; level-- > 0;) lists_[level].for_each(f);
  }
  // -1: empty. Anybody may ask.
  int highest() const noexcept;

 private:
  void removed(uint32_t level) noexcept;
  void set_waiting(uint32_t levels) noexcept;

  UnitList lists_[WEFT_PRIORITIES];
  uint32_t waiting_ = 0;  // bit p: lists_[p] is not empty
};

// ---- pools

class ListPool : public Pool {
 protected:
  ListPool(weft_pool_kind_t kind, weft_access_t access);
  // Precondition of the following: the caller has the list that the unit gets into, or is in.
  void entered(Unit* unit) noexcept;
  void left(Unit* unit) noexcept;
  bool holds_fresh(Unit* unit) const noexcept;
  // Whether the worker's main scheduler pops from here. Needs no list.
  bool serves(const Worker* worker) const noexcept;
};

template <class Order>
class SharedListPool final : public ListPool {
 public:
  SharedListPool(weft_pool_kind_t kind, weft_access_t access) : ListPool(kind, access) {}

  bool try_remove(Worker* worker, Unit* unit) override;
  void for_each(void (*f)(weft_unit_t, void*), void* arg) override;
  void push(Worker* worker, Unit* unit) override;
  Unit* pop(Worker* worker) override;
  size_t size() override { return count_.load(std::memory_order_relaxed); }
  bool try_claim(Worker* worker, Unit* unit) override;
  int highest() noexcept override;
  void forget_units() noexcept override;
  // try_claim(), whoever the caller is.
  bool claim_fresh(Unit* unit);

  // For several steps at once.
  SpinLock& lock() noexcept { return lock_; }
  void push_locked(Worker* worker, Unit* unit) noexcept;
  Unit* pop_locked(Worker* worker) noexcept;

 private:
  void count(size_t change) noexcept;

  alignas(64) SpinLock lock_;
  Order order_;                   // under lock_
  std::atomic<size_t> count_{0};  // written under lock_
};

template <class Order>
class OwnedListPool final : public ListPool {
 public:
  OwnedListPool(weft_pool_kind_t kind, weft_access_t access) : ListPool(kind, access) {}

  bool try_remove(Worker* worker, Unit* unit) override;
  void for_each(void (*f)(weft_unit_t, void*), void* arg) override;
  void push(Worker* worker, Unit* unit) override;
  Unit* pop(Worker* worker) override;
  // Never less than what is in it; a unit on its way from the inbox may be counted twice.
  size_t size() override;
  bool try_claim(Worker* worker, Unit* unit) override;
  int highest() noexcept override;
  void forget_units() noexcept override;

 private:
  void push_own(Unit* unit, uint32_t who) noexcept;
  void drain() noexcept;

  // consumer only; the count is read by anybody
  Order order_;
  std::atomic<size_t> count_{0};
  // the consumer writes it: pool_user() of the last one that popped
  std::atomic<uint32_t> owner_{0};
  // any worker
  alignas(64) SpinLock lock_;
  UnitList inbox_;                      // under lock_; Unit::slot: who pushed it
  std::atomic<size_t> inbox_count_{0};  // written under lock_
};

}  // namespace weft::rt
