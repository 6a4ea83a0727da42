// unit_list.hpp: an intrusive, doubly linked list of units. Whoever owns the list owns the links.
#pragma once

#include "unit/unit.hpp"

namespace weft::rt {

class UnitList {
 public:
  bool empty() const noexcept { return head_ == nullptr; }
  Unit* front() const noexcept { return head_; }
  Unit* back() const noexcept { return tail_; }

  template <class F>
  void for_each(F&& f) const {
    for (Unit *unit = head_, *next; unit != nullptr; unit = next) {
      next = unit->next;
      f(unit);
    }
  }

  void push_back(Unit* unit) noexcept {
    unit->next = nullptr;
    unit->prev = tail_;
    (tail_ != nullptr ? tail_->next : head_) = unit;
    tail_ = unit;
  }

  void push_front(Unit* unit) noexcept {
    unit->prev = nullptr;
    unit->next = head_;
    (head_ != nullptr ? head_->prev : tail_) = unit;
    head_ = unit;
  }

  // Behind, all of another one's, which is empty then.
  void append(UnitList& other) noexcept {
    if (other.empty()) return;
    other.head_->prev = tail_;
    (tail_ != nullptr ? tail_->next : head_) = other.head_;
    tail_ = other.tail_;
    other.head_ = other.tail_ = nullptr;
  }

  // Precondition: the unit is in this list.
  void remove(Unit* unit) noexcept {
    (unit->prev != nullptr ? unit->prev->next : head_) = unit->next;
    (unit->next != nullptr ? unit->next->prev : tail_) = unit->prev;
  }

  Unit* pop_front() noexcept {
    Unit* unit = head_;
    if (unit != nullptr) remove(unit);
    return unit;
  }

  Unit* pop_back() noexcept {
    Unit* unit = tail_;
    if (unit != nullptr) remove(unit);
    return unit;
  }

 private:
  Unit* head_ = nullptr;
  Unit* tail_ = nullptr;
};

}  // namespace weft::rt
