// wait_any.cpp: waiting for any of several gates. Protocol: README.md, "Any of several".
#include <cstdlib>
#include <new>

#include "sync/gate.hpp"

namespace weft::rt {
namespace {

constexpr size_t kInFrame = 16;

WaitKind kind_of(weft_waitable_kind_t kind) noexcept {
  switch (kind) {
    case WEFT_WAITABLE_EVENT: return WaitKind::kEvent;
    case WEFT_WAITABLE_LATCH: return WaitKind::kLatch;
    case WEFT_WAITABLE_FUTURE: return WaitKind::kFuture;
  }
  return WaitKind::kNone;
}

Gate& gate_of(const weft_waitable_t& object) noexcept { return *static_cast<Gate*>(object.object); }

bool passes(const weft_waitable_t& object) noexcept {
  switch (object.kind) {
    case WEFT_WAITABLE_EVENT: return gate_of(object).is_open();
    case WEFT_WAITABLE_LATCH: return weft_latch_is_down(static_cast<weft_latch_t*>(object.object));
    case WEFT_WAITABLE_FUTURE: return weft_future_is_ready(static_cast<weft_future_t*>(object.object));
  }
  return false;
}

class WaitAny {
 public:
  WaitAny(size_t n, const weft_waitable_t* objects, Waiter* waiters) noexcept
      : n_(n), objects_(objects), waiters_(waiters) {}

  // A1. True: one of them is open.
  bool look(size_t* which) const noexcept {
    for (size_t i = 0; i < n_; ++i) {
      if (!passes(objects_[i])) continue;
      *which = i;
      return true;
    }
    return false;
  }

  int wait(uint64_t deadline, size_t* which) noexcept {
    GuardedSection section;
    if (has_passed(deadline)) return WEFT_ERR_TIMEOUT;
    if (!section.can_wait()) return WEFT_ERR_CONTEXT;
    Waiter main;
    section.init(main, WaitKind::kAny, objects_, deadline);
    size_t queued = 0;
    bool found = false;
    while (queued < n_ && !found) found = !enqueue(section, main, queued++);  // A2
    if (!found) sleep(section, main, deadline);                              // A3
    bool passed = false;
    for (size_t i = 0; i < queued; ++i) {  // A4
      const bool woken = waiters_[i].target != nullptr && !gate_take_out(gate_of(objects_[i]), waiters_[i]);
      if ((!woken && waiters_[i].target != nullptr) || passed) continue;
      passed = true;
      *which = i;
    }
    return passed ? WEFT_OK : WEFT_ERR_TIMEOUT;
  }

 private:
  // False: it is open.
  bool enqueue(const GuardedSection& section, Waiter& main, size_t i) noexcept {
    Gate& gate = gate_of(objects_[i]);
    Waiter& waiter = waiters_[i];
    section.init(waiter, kind_of(objects_[i].kind), &gate);
    waiter.contended = true;
    waiter.target = &main;
    const bool open = (gate_lock(gate) & sync_bit::kOpen) != 0;
    if (open) {
      waiter.target = nullptr;  // not in the list
    } else {
      gate.waiters.push_back(&waiter);
    }
    gate_unlock(gate, open);
    return !open;
  }

  static void sleep(GuardedSection& section, Waiter& main, uint64_t deadline) noexcept {
    if (main.unit == nullptr) {
      waiter_sleep(section.worker, main, deadline);
      return;
    }
    Timer timer;
    if (deadline != kNever) timer_arm(section.worker, timer, main, deadline);
    section.worker = waiter_wait(section.worker, main);
    timer_disarm(timer);
  }

  size_t n_;
  const weft_waitable_t* objects_;
  Waiter* waiters_;
};

}  // namespace
}  // namespace weft::rt

using namespace weft::rt;

int weft_wait_any(size_t n, const weft_waitable_t* objects, size_t* which) {
  return weft_wait_any_until(n, objects, WEFT_NEVER, which);
}

int weft_wait_any_until(size_t n, const weft_waitable_t* objects, uint64_t deadline, size_t* which) {
  if (n == 0 || objects == nullptr) return WEFT_ERR_INVALID;
  for (size_t i = 0; i < n; ++i) {
    if (objects[i].object == nullptr || kind_of(objects[i].kind) == WaitKind::kNone) return WEFT_ERR_INVALID;
  }
  size_t first = 0;
  Waiter in_frame[kInFrame];
  Waiter* waiters = in_frame;
  int error = WEFT_OK;
  if (!WaitAny(n, objects, nullptr).look(&first)) {
    if (n > kInFrame) {
      if (n > SIZE_MAX / sizeof(Waiter)) return WEFT_ERR_NO_MEMORY;
      waiters = static_cast<Waiter*>(std::malloc(n * sizeof(Waiter)));
      if (waiters == nullptr) return WEFT_ERR_NO_MEMORY;
      for (size_t i = 0; i < n; ++i) new (&waiters[i]) Waiter;
    }
    error = WaitAny(n, objects, waiters).wait(deadline, &first);
    if (waiters != in_frame) std::free(waiters);
  }
  if (error == WEFT_OK && which != nullptr) *which = first;
  return error;
}
