#include "time/timer_heap.hpp"

namespace weft::rt {
namespace {

// Two heaps, by their roots, which have no siblings.
Timer* merge(Timer* a, Timer* b) noexcept {
  if (a == nullptr) return b;
  if (b == nullptr) return a;
  if (b->deadline < a->deadline) {
    Timer* earlier = b;
    b = a;
    a = earlier;
  }
  b->before = a;
  b->sibling = a->child;
  if (a->child != nullptr) a->child->before = b;
  a->child = b;
  return a;
}

Timer* cut(Timer* timer) noexcept {
  timer->sibling = nullptr;
  timer->before = nullptr;
  return timer;
}

// The heaps of a list of siblings as one: in pairs from left to right, then the pairs from right to left.
Timer* merge_siblings(Timer* first) noexcept {
  Timer* pairs = nullptr;  // linked by `sibling`, last one first
  while (first != nullptr) {
    Timer* a = first;
    Timer* b = a->sibling;
    first = b != nullptr ? b->sibling : nullptr;
    Timer* pair = merge(cut(a), b != nullptr ? cut(b) : nullptr);
    pair->sibling = pairs;
    pairs = pair;
  }
  Timer* all = nullptr;
  while (pairs != nullptr) {
    Timer* next = pairs->sibling;
    all = merge(cut(pairs), all);
    pairs = next;
  }
  return all;
}

}  // namespace

void TimerHeap::publish_earliest() noexcept {
  const uint64_t earliest = root_ != nullptr ? root_->deadline : kNever;
  if (earliest_.load(std::memory_order_relaxed) != earliest) {
    earliest_.store(earliest, std::memory_order_seq_cst);
  }
}

void TimerHeap::take_root() noexcept {
  Timer* timer = root_;
  root_ = merge_siblings(timer->child);
  timer->child = nullptr;
  timer->armed = false;
}

bool TimerHeap::insert(Timer* timer) noexcept {
  lock_.lock();
  timer->heap = this;
  timer->armed = true;
  root_ = merge(root_, timer);
  const bool first = root_ == timer;
  publish_earliest();
  lock_.unlock();
  return first;
}

bool TimerHeap::remove(Timer* timer) noexcept {
  lock_.lock();
  const bool armed = timer->armed;
  if (armed && timer == root_) {
    take_root();
  } else if (armed) {
    Timer* before = timer->before;
    (before->child == timer ? before->child : before->sibling) = timer->sibling;
    if (timer->sibling != nullptr) timer->sibling->before = before;
    cut(timer);
    root_ = merge(root_, merge_siblings(timer->child));
    timer->child = nullptr;
    timer->armed = false;
  }
  publish_earliest();
  lock_.unlock();
  return armed;
}

}  // namespace weft::rt
