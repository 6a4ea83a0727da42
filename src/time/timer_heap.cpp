// timer_heap.cpp: the heap; the list of those that found no room in it. The memory: timer_memory.cpp.
#include "time/timer_heap.hpp"

#include <algorithm>

namespace weft::rt {
namespace {

constexpr size_t kChildren = 4;

size_t first_child(size_t place) noexcept { return place * kChildren + 1; }
size_t parent(size_t place) noexcept { return (place - 1) / kChildren; }

}  // namespace

// ---- the heap -----------------------------------------------------------------------------------

void TimerHeap::put(size_t place, Entry entry) noexcept {
  entries_[place] = entry;
  entry.timer->place = static_cast<uint32_t>(place);
}

void TimerHeap::sift_up(size_t place, Entry entry) noexcept {
  while (place > 0 && entry.deadline < entries_[parent(place)].deadline) {
    put(place, entries_[parent(place)]);
    place = parent(place);
  }
  put(place, entry);
}

// Precondition: it has one.
size_t TimerHeap::least_child(size_t place) const noexcept {
  const size_t first = first_child(place);
  const size_t end = std::min(first + kChildren, count_);
  size_t least = first;
  for (size_t child = first + 1; child < end; ++child) {
    if (entries_[child].deadline < entries_[least].deadline) least = child;
  }
  return least;
}

void TimerHeap::sift_down(size_t place, Entry entry) noexcept {
  while (first_child(place) < count_) {
    const size_t child = least_child(place);
    if (entries_[child].deadline >= entry.deadline) break;
    put(place, entries_[child]);
    place = child;
  }
  put(place, entry);
}

void TimerHeap::take_out(size_t place) noexcept {
  entries_[place].timer->place = Timer::kNowhere;
  const Entry last = entries_[--count_];
  if (place < count_) {
    const bool rises = place > 0 && last.deadline < entries_[parent(place)].deadline;
    rises ? sift_up(place, last) : sift_down(place, last);
  }
  if (list_ != nullptr) {
    Timer* timer = list_;
    list_remove(timer);
    sift_up(count_++, {timer->deadline, timer});
  } else if (touched_ > kKeptEntries && count_ < touched_ / 4) {
    give_back();
  }
}

Timer* TimerHeap::take_due(uint64_t now) noexcept {
  if (count_ > 0 && entries_[0].deadline <= now) {
    Timer* timer = entries_[0].timer;
    take_out(0);
    return timer;
  }
  return list_earliest_ <= now ? list_take_due(now) : nullptr;
}

void TimerHeap::publish_earliest() noexcept {
  const uint64_t earliest = std::min(count_ > 0 ? entries_[0].deadline : kNever, list_earliest_);
  if (earliest_.load(std::memory_order_relaxed) != earliest) {
    earliest_.store(earliest, std::memory_order_seq_cst);
  }
}

// ---- the list -----------------------------------------------------------------------------------

void TimerHeap::list_add(Timer* timer) noexcept {
  timer->place = Timer::kInList;
  timer->prev = nullptr;
  timer->next = list_;
  if (list_ != nullptr) list_->prev = timer;
  list_ = timer;
  list_earliest_ = std::min(list_earliest_, timer->deadline);
}

void TimerHeap::list_remove(Timer* timer) noexcept {
  (timer->prev != nullptr ? timer->prev->next : list_) = timer->next;
  if (timer->next != nullptr) timer->next->prev = timer->prev;
  timer->place = Timer::kNowhere;
  if (list_ == nullptr) list_earliest_ = kNever;
}

Timer* TimerHeap::list_take_due(uint64_t now) noexcept {
  list_earliest_ = kNever;
  for (Timer* timer = list_; timer != nullptr; timer = timer->next) {
    list_earliest_ = std::min(list_earliest_, timer->deadline);
    if (timer->deadline > now) continue;
    list_remove(timer);
    return timer;
  }
  return nullptr;
}

// ---- what others call ---------------------------------------------------------------------------

bool TimerHeap::insert(Timer* timer) noexcept {
  lock_.lock();
  timer->heap = this;
  if (count_ == room_ && !grow()) {
    list_add(timer);
  } else {
    sift_up(count_++, {timer->deadline, timer});
    touched_ = std::max(touched_, count_);
  }
  const bool first = timer->deadline < earliest_.load(std::memory_order_relaxed);
  publish_earliest();
  lock_.unlock();
  return first;
}

bool TimerHeap::remove(Timer* timer) noexcept {
  lock_.lock();
  const bool armed = timer->place != Timer::kNowhere;
  if (timer->place == Timer::kInList) {
    list_remove(timer);
  } else if (armed) {
    take_out(timer->place);
  }
  publish_earliest();
  lock_.unlock();
  return armed;
}

uint64_t TimerHeap::second() noexcept {
  lock_.lock();
  uint64_t second = count_ > 1 ? entries_[least_child(0)].deadline : kNever;
  if (list_ != nullptr) second = std::min(second, list_earliest_);  // may be the earliest itself
  lock_.unlock();
  return second;
}

void TimerHeap::forget_all() noexcept {
  count_ = 0;
  list_ = nullptr;
  list_earliest_ = kNever;
  give_back();
  publish_earliest();
}

}  // namespace weft::rt
