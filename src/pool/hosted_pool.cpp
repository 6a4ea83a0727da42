#include "pool/hosted_pool.hpp"

#include <mutex>
#include <new>

#include "worker/worker.hpp"

namespace weft::rt {

Lane* HostedPool::host() const noexcept {
  Worker* owner = lane_owner;
  return owner != nullptr ? &owner->lane : nullptr;
}

void HostedPool::push(Worker* worker, Unit* unit) {
  if (worker != nullptr && lane_owner == worker) return worker->lane.push(worker, unit);
  const std::scoped_lock hold(list_.lock());
  if (Lane* lane = host()) {
    lane->push(worker, unit);
  } else {
    list_.push_locked(worker, unit);
  }
}

void HostedPool::push_all(Worker* worker, UnitList& units) {
  if (worker != nullptr && lane_owner == worker) return worker->lane.push_all(worker, units);
  const std::scoped_lock hold(list_.lock());
  if (Lane* lane = host()) return lane->push_all(worker, units);
  while (Unit* unit = units.pop_front()) list_.push_locked(worker, unit);
}

Unit* HostedPool::pop(Worker* worker) {
  Lane* lane = host();
  return lane != nullptr ? lane->pop(worker) : list_.pop(worker);
}

size_t HostedPool::size() {
  Lane* lane = host();
  return lane != nullptr ? lane->size() : list_.size();
}

bool HostedPool::try_claim(Worker* worker, Unit* unit) {
  if (Lane* lane = host()) return lane->try_claim(worker, unit);
  const uint64_t bit = uint64_t{1} << (worker->index % 64);
  const bool serves = (consumers[worker->index / 64].load(std::memory_order_relaxed) & bit) != 0;
  return serves && list_.claim_fresh(unit);
}

bool HostedPool::try_remove(Worker* worker, Unit* unit) {
  Lane* lane = host();
  return lane != nullptr ? lane->try_remove(worker, unit) : list_.try_remove(worker, unit);
}

void HostedPool::for_each(void (*f)(weft_unit_t, void*), void* arg) {
  if (Lane* lane = host()) {
    lane->for_each(f, arg);
  } else {
    list_.for_each(f, arg);
  }
}

void HostedPool::forget_units() noexcept {
  lane_owner = nullptr;
  list_.forget_units();
}

void HostedPool::list_stopped(Worker* owner) noexcept {
  const std::scoped_lock hold(list_.lock());  // so it stays there meanwhile
  if (lane_owner == owner) owner->lane.list_stopped(owner);
}

bool HostedPool::settle(Worker* worker) noexcept {
  if (schedulers.load(std::memory_order_acquire) != 1) return false;
  const std::scoped_lock hold(list_.lock());
  // What waits in the lane already came later, if anything does.
  while (Unit* unit = list_.pop_locked(nullptr)) worker->lane.push_private(unit);
  lane_owner = worker;
  return true;
}

void HostedPool::unsettle(Worker* worker) noexcept {
  if (lane_owner != worker) return;  // it lives in no lane, or in that of another one, who stays
  Lane& lane = worker->lane;
  {
    const std::scoped_lock hold(list_.lock());
    lane_owner = nullptr;
    while (Unit* unit = lane.take_any()) {
      unit->flags.clear(flag::kDirect);
      list_.push_locked(nullptr, unit);
    }
    lane.unlist();
  }
  lane.refuse_woken();
}

Pool* pool_create_hosted(weft_access_t access) noexcept { return new (std::nothrow) HostedPool(access); }

}  // namespace weft::rt
