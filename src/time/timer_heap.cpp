// timer_heap.cpp: the heap; its tail; the list of those that found no room in it. The memory: timer_memory.cpp.
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
  const size_t end = std::min(first + kChildren, heap_);
  size_t least = first;
  for (size_t child = first + 1; child < end; ++child) {
    if (entries_[child].deadline < entries_[least].deadline) least = child;
  }
  return least;
}

void TimerHeap::sift_down(size_t place, Entry entry) noexcept {
  while (first_child(place) < heap_) {
    const size_t child = least_child(place);
    if (entries_[child].deadline >= entry.deadline) break;
    put(place, entries_[child]);
    place = child;
  }
  put(place, entry);
}

void TimerHeap::take_out_of_heap(size_t place) noexcept {
  const Entry last = entries_[--heap_];
  if (place < heap_) {
    const bool rises = place > 0 && last.deadline < entries_[parent(place)].deadline;
    rises ? sift_up(place, last) : sift_down(place, last);
  }
  if (heap_ < --count_) put(heap_, entries_[count_]);  // the tail begins one earlier
}

// ---- the tail -----------------------------------------------------------------------------------

void TimerHeap::append(Timer* timer) noexcept {
  put(count_++, {timer->deadline, timer});
  tail_earliest_ = std::min(tail_earliest_, timer->deadline);
  touched_ = std::max(touched_, count_);
  if (count_ - heap_ <= kTail) return;
  for (; heap_ < count_; ++heap_) sift_up(heap_, entries_[heap_]);
  tail_earliest_ = kNever;
}

// Precondition: there is one.
size_t TimerHeap::least_of_tail() const noexcept {
  size_t least = heap_;
  for (size_t place = heap_ + 1; place < count_; ++place) {
    if (entries_[place].deadline < entries_[least].deadline) least = place;
  }
  return least;
}

void TimerHeap::take_out_of_tail(size_t place) noexcept {
  const uint64_t deadline = entries_[place].deadline;
  if (place < --count_) put(place, entries_[count_]);
  if (deadline > tail_earliest_) return;
  tail_earliest_ = heap_ < count_ ? entries_[least_of_tail()].deadline : kNever;
}

// ---- both ---------------------------------------------------------------------------------------

void TimerHeap::take_out(size_t place) noexcept {
  entries_[place].timer->place = Timer::kNowhere;
  place < heap_ ? take_out_of_heap(place) : take_out_of_tail(place);
  if (list_ != nullptr) {
    Timer* timer = list_;
    list_remove(timer);
    append(timer);
  } else if (touched_ > kKeptEntries && count_ < touched_ / 4) {
    give_back();
  }
}

Timer* TimerHeap::take_due(uint64_t now) noexcept {
  const uint64_t earliest = heap_ > 0 ? entries_[0].deadline : kNever;
  if (count_ == 0 || std::min(earliest, tail_earliest_) > now) {
    return list_earliest_ <= now ? list_take_due(now) : nullptr;
  }
  const size_t place = tail_earliest_ < earliest ? least_of_tail() : 0;
  Timer* timer = entries_[place].timer;
  take_out(place);
  return timer;
}

void TimerHeap::publish_earliest() noexcept {
  uint64_t earliest = std::min(tail_earliest_, list_earliest_);
  if (heap_ > 0) earliest = std::min(earliest, entries_[0].deadline);
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
    append(timer);
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
  uint64_t first = heap_ > 0 ? entries_[0].deadline : kNever;
  uint64_t second = heap_ > 1 ? entries_[least_child(0)].deadline : kNever;
  for (size_t place = heap_; place < count_; ++place) {
    const uint64_t deadline = entries_[place].deadline;
    second = std::min(second, std::max(first, deadline));
    first = std::min(first, deadline);
  }
  if (list_ != nullptr) second = std::min(second, list_earliest_);  // may be the earliest itself
  lock_.unlock();
  return second;
}

void TimerHeap::forget_all() noexcept {
  heap_ = 0;
  count_ = 0;
  tail_earliest_ = kNever;
  list_ = nullptr;
  list_earliest_ = kNever;
  give_back();
  publish_earliest();
}

}  // namespace weft::rt
