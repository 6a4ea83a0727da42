// promise.hpp: the other end of a future, filled by hand.
#pragma once

#include <exception>
#include <memory>
#include <type_traits>
#include <utility>
#include <variant>

#include "weft/future.hpp"

namespace weft {

template <class R>
class promise {
  // What is given; a stand-in where R is not such.
  using object = std::conditional_t<std::is_object_v<R>, R, std::monostate>;
  using reference = std::conditional_t<std::is_reference_v<R>, R, std::monostate&>;

 public:
  promise() : promise(std::allocator_arg, std::allocator<char>()) {}
  template <class A>
  promise(std::allocator_arg_t, const A& allocator)
      : state_(std::allocate_shared<detail::future_state<R>>(allocator)) {}
  promise(promise&&) noexcept = default;
  promise& operator=(promise&& other) noexcept {
    promise(std::move(other)).swap(*this);
    return *this;
  }
  // What was promised and not given arrives as broken_promise.
  ~promise() {
    if (state_ != nullptr && state_.use_count() > 1) {
      state_->abandon();
    }
  }

  // Throws no_state, future_already_retrieved.
  future<R> get_future() { return detail::future_access<R>::make(state_); }

  // The value for a reference is an lvalue, for void there is none.
  // Context: any; do not block. Throw no_state, promise_already_satisfied, and what copying the value throws.
  void set_value(const object& value)
    requires(std::is_object_v<R>)
  {
    checked().satisfy(copy_of(value));
  }
  void set_value(object&& value)
    requires(std::is_object_v<R>)
  {
    checked().satisfy(moved_from(value));
  }
  void set_value(reference value)
    requires(std::is_reference_v<R>)
  {
    checked().satisfy(address_of(value));
  }
  void set_value()
    requires(std::is_void_v<R>)
  {
    checked().satisfy(nothing);
  }
  void set_exception(std::exception_ptr error) { checked().satisfy(failure(std::move(error))); }

  // The same, but ready only when the calling thread ends; exit.hpp says when that is.
  // Throw also std::bad_alloc, weft::error (LIMIT: no unit-local key is left).
  void set_value_at_thread_exit(const object& value)
    requires(std::is_object_v<R>)
  {
    satisfy_at_exit(copy_of(value));
  }
  void set_value_at_thread_exit(object&& value)
    requires(std::is_object_v<R>)
  {
    satisfy_at_exit(moved_from(value));
  }
  void set_value_at_thread_exit(reference value)
    requires(std::is_reference_v<R>)
  {
    satisfy_at_exit(address_of(value));
  }
  void set_value_at_thread_exit()
    requires(std::is_void_v<R>)
  {
    satisfy_at_exit(nothing);
  }
  void set_exception_at_thread_exit(std::exception_ptr error) {
    satisfy_at_exit(failure(std::move(error)));
  }

  void swap(promise& other) noexcept { state_.swap(other.state_); }
  friend void swap(promise& a, promise& b) noexcept { a.swap(b); }

 private:
  using outcome = detail::outcome<R>;

  // How an outcome is filled.
  static auto copy_of(const object& value) {
    return [&value](outcome& o) { o.emplace(value); };
  }
  static auto moved_from(object& value) {
    return [&value](outcome& o) { o.emplace(std::move(value)); };
  }
  static auto address_of(reference value) {
    return [&value](outcome& o) { o.emplace(std::addressof(value)); };
  }
  static void nothing(outcome& o) { o.emplace(); }
  static auto failure(std::exception_ptr error) {
    return [error = std::move(error)](outcome& o) { o.fail(error); };
  }

  detail::future_state<R>& checked() const {
    if (state_ == nullptr) {
      detail::raise_future(std::future_errc::no_state);
    }
    return *state_;
  }
  template <class F>
  void satisfy_at_exit(F&& fill) {
    checked().satisfy_at_exit(state_, std::forward<F>(fill));
  }

  std::shared_ptr<detail::future_state<R>> state_;
};

}  // namespace weft

template <class R, class A>
struct std::uses_allocator<weft::promise<R>, A> : std::true_type {};
