// registry.hpp: all objects of a kind, so that a forked child can find what the parent's threads had in hand.
#pragma once

#include "base/spin_lock.hpp"
#include "klt/guard.hpp"

namespace weft::rt {

// A section, unless the caller is in one already.
class InSection {
 public:
  InSection() noexcept
      : inside_(klt_register_valid() && klt_register_load<kKltGuard, uint32_t>() != kGuardDown),
        worker_(inside_ ? nullptr : section_enter()) {}
  InSection(const InSection&) = delete;
  InSection& operator=(const InSection&) = delete;
  ~InSection() {
    if (!inside_) section_leave(worker_);
  }

 private:
  const bool inside_;
  Worker* const worker_;
};

// T has `next_all` and `prev_all`. Objects that are made and freed, not used, pay for it.
template <class T>
class Registry {
 public:
  void add(T* object) noexcept {
    InSection section;
    lock_.lock();
    object->prev_all = nullptr;
    object->next_all = head_;
    if (head_ != nullptr) head_->prev_all = object;
    head_ = object;
    lock_.unlock();
  }

  void remove(T* object) noexcept {
    InSection section;
    lock_.lock();
    (object->prev_all != nullptr ? object->prev_all->next_all : head_) = object->next_all;
    if (object->next_all != nullptr) object->next_all->prev_all = object->prev_all;
    lock_.unlock();
  }

  // Precondition: there is one thread only.
  template <class F>
  void for_each(F&& f) noexcept {
    for (T* object = head_; object != nullptr;) {
      T* const next = object->next_all;
      f(object);
      object = next;
    }
  }

 private:
  SpinLock lock_;
  T* head_ = nullptr;
};

}  // namespace weft::rt
