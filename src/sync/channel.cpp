// channel.cpp: the bounded channel. Protocol and proof: README.md, "Channel".
#include <cstdlib>
#include <cstring>
#include <new>

#include "sync/list_lock.hpp"
#include "worker/direct.hpp"
#include "weft/weft.h"

namespace weft::rt {
namespace {

// Waits with its element, or with room for one.
struct ChannelWaiter : Waiter {
  void* element = nullptr;  // constant
  bool closed = false;      // the waker, under kQueue: nothing was sent
};

struct Channel {
  std::atomic<uint32_t> state{0};  // any thread: kQueue; or a worker's tag: list_lock.hpp
  // constant
  size_t capacity;
  size_t element_size;
  char* buffer;  // a ring
  // under the lock of the lists
  std::atomic<uint32_t> uses{0};
  bool closed = false;  // then the lists are nobody's own
  size_t first = 0;
  std::atomic<size_t> filled{0};  // who is about to wait looks at it without the lock
  WaitQueue senders{};    // with room for none of them
  WaitQueue receivers{};  // with nothing there

  ListHold lock(const GuardedSection& section) noexcept {
    const ListHold hold = list_lock(section.worker, state, uses, 0);
    if (senders.forget_stale()) receivers.forget_stale();
    return hold;
  }

  size_t count() const noexcept { return filled.load(std::memory_order_relaxed); }
  void set_count(size_t n) noexcept { filled.store(n, std::memory_order_relaxed); }

  // The same, and they are nobody's own from here on.
  ListHold lock_for_good(const GuardedSection& section) noexcept {
    const ListHold hold = lock(section);
    uses.store(kNobodysOwn, std::memory_order_relaxed);
    if (hold.word == &state) return {&state, 0, 0};
    uint32_t own = section.worker->tag;
    // It fails where somebody else is just taking them away, and waits for us.
    if (!state.compare_exchange_strong(own, sync_bit::kQueue, std::memory_order_relaxed)) return hold;
    list_unlock_own(section.worker);
    return {&state, 0, 0};
  }

  // The first free one. Precondition: there is one.
  char* add_slot() noexcept {
    const size_t n = count();
    set_count(n + 1);
    return slot(n);
  }
  char* slot(size_t i) noexcept {
    const size_t at = first + i;
    return buffer + (at < capacity ? at : at - capacity) * element_size;
  }
  void copy(void* to, const void* from) const noexcept {
    if (element_size == sizeof(void*)) {  // most often; no call
      std::memcpy(to, from, sizeof(void*));
    } else {
      std::memcpy(to, from, element_size);
    }
  }
};

Channel* channel_of(weft_channel_t channel) noexcept { return reinterpret_cast<Channel*>(channel); }

// C1. True: done, and the lock is given back. False: it has to wait.
bool send_now(const GuardedSection& section, const ListHold& hold, Channel& channel, const void* element,
              int* error) noexcept {
  *error = channel.closed ? WEFT_ERR_CLOSED : WEFT_OK;
  WakeList wakes;
  if (channel.closed) {
  } else if (auto* receiver = static_cast<ChannelWaiter*>(channel.receivers.pop_front())) {
    channel.copy(receiver->element, element);
    wakes.add(receiver);
  } else if (channel.count() < channel.capacity) {
    channel.copy(channel.add_slot(), element);
  } else {
    return false;
  }
  hold.unlock(true);
  wakes.wake(section.worker);
  return true;
}

void drop_first(Channel& channel) noexcept {
  if (++channel.first == channel.capacity) channel.first = 0;
  channel.set_count(channel.count() - 1);
}

// C2. The same for a receiver. A sender that waits moves up.
bool receive_now(const GuardedSection& section, const ListHold& hold, Channel& channel, void* element,
                 int* error) noexcept {
  *error = WEFT_OK;
  WakeList wakes;
  auto* sender = static_cast<ChannelWaiter*>(channel.senders.pop_front());
  if (channel.count() > 0) {
    channel.copy(element, channel.slot(0));
    drop_first(channel);
    if (sender != nullptr) channel.copy(channel.add_slot(), sender->element);
  } else if (sender != nullptr) {
    channel.copy(element, sender->element);
  } else if (channel.closed) {
    *error = WEFT_ERR_CLOSED;
  } else {
    return false;
  }
  if (sender != nullptr) wakes.add(sender);
  hold.unlock(true);
  wakes.wake(section.worker);
  return true;
}

// C3. Precondition: the lock.
int wait_in(GuardedSection& section, const ListHold& hold, Channel& channel, WaitQueue& queue, WaitKind kind,
            void* element, uint64_t deadline) noexcept {
  const int error = has_passed(deadline) ? WEFT_ERR_TIMEOUT : !section.can_wait() ? WEFT_ERR_CONTEXT : WEFT_OK;
  if (error != WEFT_OK) {
    hold.unlock(true);
    return error;
  }
  ChannelWaiter self;
  section.init(self, kind, &channel, deadline);
  self.element = element;
  queue.push_back(&self);
  const auto take_out = [&] {
    const ListHold again = channel.lock(section);
    const bool queued = queue.remove_if_queued(&self);
    again.unlock(true);
    return queued;
  };
  if (!section.wait_until(self, hold.release(), deadline, take_out)) return WEFT_ERR_TIMEOUT;
  return self.closed ? WEFT_ERR_CLOSED : WEFT_OK;
}

// Most ULTs that exchange values belong to one worker, which then has the lists to itself, and wake and wait for one of its ring.
// For them C1 to C3 without anything else. Also L1 and L3 (README.md, "Lists that one worker has to itself") are the section's own.

// Behind the last look at it. For ThreadSanitizer, to which the guard is no atomic: pairs with the acquire in take_list_away().
void is_done_with(Channel& channel) noexcept { san::release(&channel.state); }

// In a section that began in `state`: until it ends, or the guard says no more than that it is up.
[[gnu::always_inline]] inline bool is_own(const Worker* worker, Channel& channel) noexcept {
  if (channel.state.load(std::memory_order_acquire) != worker->tag) return false;
  if (channel.senders.head == nullptr && channel.senders.generation == process_generation) return true;
  is_done_with(channel);
  return false;
}

int send(Channel& channel, const void* element, uint64_t deadline, bool wait) noexcept {
  GuardedSection section;
  const ListHold hold = channel.lock(section);
  int error;
  if (send_now(section, hold, channel, element, &error)) return error;
  if (wait) {
    return wait_in(section, hold, channel, channel.senders, WaitKind::kChannelSend, const_cast<void*>(element),
                   deadline);
  }
  hold.unlock(true);
  return WEFT_ERR_BUSY;
}

int receive(Channel& channel, void* element, uint64_t deadline, bool wait) noexcept {
  GuardedSection section;
  if (wait && section.worker != nullptr && channel.capacity != 0 && channel.count() == 0 && !has_passed(deadline)) {
    look_before_waiting(section.worker, [&] { return channel.count() != 0; });
  }
  const ListHold hold = channel.lock(section);
  int error;
  if (receive_now(section, hold, channel, element, &error)) return error;
  if (wait) {
    return wait_in(section, hold, channel, channel.receivers, WaitKind::kChannelReceive, element, deadline);
  }
  hold.unlock(true);
  return WEFT_ERR_BUSY;
}

// C4.
void turn_away(WaitQueue& queue, WakeList& wakes) noexcept {
  while (auto* waiter = static_cast<ChannelWaiter*>(queue.pop_front())) {
    waiter->closed = true;
    wakes.add(waiter);
  }
}

bool bad(weft_channel_t channel, const void* element) noexcept {
  return channel == nullptr || (element == nullptr && channel_of(channel)->element_size != 0);
}

// C1, where a receiver waits.
[[gnu::always_inline]] inline int send_to_receiver(Worker* worker, Channel& channel, ChannelWaiter& receiver,
                                                   const void* element) noexcept {
  channel.receivers.remove(&receiver);
  channel.copy(receiver.element, element);
  is_done_with(channel);
  wake_into_ring(worker, receiver);
  return guard_leave_ok(worker);
}

// C3, by a switch to the next unit. Precondition: is_own(), and nothing is there.
[[gnu::noinline]] WEFT_RETURNS_BY_JUMP int receive_by_switch(Worker* worker, Channel& channel, void* element) noexcept {
  Unit* unit = klt_current();
  Unit* next = unit != nullptr && !unit_is(unit, flag::kInPlace) ? take_direct_successor(worker, unit) : nullptr;
  if (next == nullptr) {
    is_done_with(channel);
    return leave_and(worker, channel, [element](Channel& c) { return receive(c, element, kNever, true); });
  }
  ChannelWaiter self;
  waiter_init(worker, unit, self, WaitKind::kChannelReceive, &channel);
  self.element = element;
  channel.receivers.push_back(&self);
  block(worker, unit, self);
  is_done_with(channel);
  switch_directly_and_release(worker, unit, next, &klt_self()->guard, kGuardUp, false);
  guard_leave(guard_worker());  // of another worker perhaps
  return self.closed ? WEFT_ERR_CLOSED : WEFT_OK;
}

}  // namespace
}  // namespace weft::rt

using namespace weft::rt;

int weft_channel_create(size_t capacity, size_t size, weft_channel_t* channel) {
  if (channel == nullptr) return WEFT_ERR_INVALID;
  size_t bytes;
  if (__builtin_mul_overflow(capacity, size, &bytes)) return WEFT_ERR_NO_MEMORY;
  char* buffer = bytes != 0 ? static_cast<char*>(std::malloc(bytes)) : nullptr;
  auto* made = new (std::nothrow) Channel{.capacity = capacity, .element_size = size, .buffer = buffer};
  if (made == nullptr || (bytes != 0 && buffer == nullptr)) {
    std::free(buffer);
    delete made;
    return WEFT_ERR_NO_MEMORY;
  }
  if (guard_in(&made->state) == kGuardDown) made->uses.store(kNobodysOwn, std::memory_order_relaxed);
  *channel = reinterpret_cast<weft_channel_t>(made);
  return WEFT_OK;
}

int weft_channel_free(weft_channel_t* channel) {
  if (channel == nullptr || *channel == nullptr) return WEFT_ERR_INVALID;
  Channel* c = channel_of(*channel);
  {
    GuardedSection section;
    const ListHold hold = c->lock(section);  // whoever is just being let through has done with it
    const bool waiting = !c->senders.empty() || !c->receivers.empty();
    hold.unlock(true);
    if (waiting) return WEFT_ERR_STATE;
  }
  std::free(c->buffer);
  delete c;
  *channel = nullptr;
  return WEFT_OK;
}

int weft_channel_send(weft_channel_t channel, const void* element) {
  if (bad(channel, element)) return WEFT_ERR_INVALID;
  const auto any = [element](Channel& c) { return send(c, element, kNever, true); };
  Channel& c = *channel_of(channel);
  if (!klt_register_valid()) return any(c);
  Worker* worker = guard_try_enter_in(&c.state);
  if (__builtin_expect(worker == nullptr || !is_own(worker, c), 0)) return leave_and(worker, c, any);
  if (auto* receiver = static_cast<ChannelWaiter*>(c.receivers.head)) {
    if (wakes_into_ring(worker, *receiver)) return send_to_receiver(worker, c, *receiver, element);
  } else if (c.count() < c.capacity) {
    c.copy(c.add_slot(), element);
    is_done_with(c);
    return guard_leave_unfed_ok(worker);
  }
  is_done_with(c);
  return leave_and(worker, c, any);
}

int weft_channel_send_until(weft_channel_t channel, const void* element, uint64_t deadline) {
  return bad(channel, element) ? WEFT_ERR_INVALID : send(*channel_of(channel), element, deadline, true);
}

int weft_channel_trysend(weft_channel_t channel, const void* element) {
  return bad(channel, element) ? WEFT_ERR_INVALID : send(*channel_of(channel), element, kNever, false);
}

int weft_channel_receive(weft_channel_t channel, void* element) {
  if (bad(channel, element)) return WEFT_ERR_INVALID;
  const auto any = [element](Channel& c) { return receive(c, element, kNever, true); };
  Channel& c = *channel_of(channel);
  if (!klt_register_valid()) return any(c);
  Worker* worker = guard_try_enter_in(&c.state);
  if (__builtin_expect(worker == nullptr || !is_own(worker, c), 0)) return leave_and(worker, c, any);
  if (c.count() == 0) return receive_by_switch(worker, c, element);
  c.copy(element, c.slot(0));
  drop_first(c);
  is_done_with(c);
  return guard_leave_unfed_ok(worker);
}

int weft_channel_receive_until(weft_channel_t channel, void* element, uint64_t deadline) {
  return bad(channel, element) ? WEFT_ERR_INVALID : receive(*channel_of(channel), element, deadline, true);
}

int weft_channel_tryreceive(weft_channel_t channel, void* element) {
  return bad(channel, element) ? WEFT_ERR_INVALID : receive(*channel_of(channel), element, kNever, false);
}

int weft_channel_close(weft_channel_t channel) {
  if (channel == nullptr) return WEFT_ERR_INVALID;
  Channel& c = *channel_of(channel);
  GuardedSection section;
  WakeList wakes;
  const ListHold hold = c.lock_for_good(section);
  const bool closed = c.closed;
  c.closed = true;
  turn_away(c.receivers, wakes);
  turn_away(c.senders, wakes);
  hold.unlock(true);
  wakes.wake(section.worker);
  return closed ? WEFT_ERR_STATE : WEFT_OK;
}

size_t weft_channel_size(weft_channel_t channel) {
  if (channel == nullptr) return 0;
  Channel& c = *channel_of(channel);
  GuardedSection section;
  const ListHold hold = c.lock(section);
  const size_t count = c.count();
  hold.unlock(true);
  return count;
}
