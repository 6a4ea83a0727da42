// future.hpp: future and shared_future; promise.hpp, packaged_task.hpp and async.hpp make them.
//
// Errors of use are std::future_error, with the codes of <future>; where a wait is refused (a tasklet may
// not suspend) it is weft::error (CONTEXT). Waiting for a future of async() may run its callable here.
#pragma once

#include <chrono>
#include <future>
#include <memory>
#include <type_traits>
#include <utility>

#include "weft/future_state.hpp"

namespace weft {

template <class R>
class shared_future;

namespace detail {

// What future and shared_future have in common.
template <class R>
class future_handle {
 public:
  bool valid() const noexcept { return state_ != nullptr; }

  // Until there is an outcome. Context: ULT, KLT; any where it is ready. Suspends.
  // Throws no_state; CONTEXT (tasklet). On an error the future is as before.
  void wait() const { checked().wait(); }
  // The same, no longer than that; deferred at once where nobody has asked for the outcome yet.
  template <class Rep, class Period>
  std::future_status wait_for(const std::chrono::duration<Rep, Period>& d) const {
    return checked().wait_for(d);
  }
  template <class Clock, class Duration>
  std::future_status wait_until(const std::chrono::time_point<Clock, Duration>& t) const {
    return checked().wait_until(t);
  }

 protected:
  future_handle() noexcept = default;
  explicit future_handle(std::shared_ptr<future_state<R>> state) noexcept
      : state_(std::move(state)) {}

  future_state<R>& checked() const {
    if (state_ == nullptr) {
      raise_future(std::future_errc::no_state);
    }
    return *state_;
  }

  std::shared_ptr<future_state<R>> state_;
};

// Whoever makes a state makes its future by this.
template <class R>
struct future_access;

}  // namespace detail

template <class R>
class future : public detail::future_handle<R> {
 public:
  future() noexcept = default;
  future(future&&) noexcept = default;
  future& operator=(future&&) noexcept = default;

  // Waits; then the value, moved out, or the exception, thrown. Afterwards it is not valid.
  R get() {
    this->checked().wait();
    const std::shared_ptr<detail::future_state<R>> state = std::move(this->state_);
    return state->take();
  }
  // Afterwards this one is not valid.
  shared_future<R> share() noexcept { return shared_future<R>(std::move(*this)); }

 private:
  friend shared_future<R>;
  friend detail::future_access<R>;
  using detail::future_handle<R>::future_handle;
};

// Any number of them, in as many threads, may look at the same outcome.
template <class R>
class shared_future : public detail::future_handle<R> {
 public:
  shared_future() noexcept = default;
  shared_future(future<R>&& other) noexcept
      : detail::future_handle<R>(std::move(other.state_)) {}

  // Waits; then the value (const R&, R& or void), or the exception, thrown.
  decltype(auto) get() const {
    this->checked().wait();
    return std::as_const(this->checked()).get();
  }
};

namespace detail {

template <class R>
struct future_access {
  // Throws future_already_retrieved.
  static future<R> make(const std::shared_ptr<future_state<R>>& state) {
    if (state == nullptr) {
      raise_future(std::future_errc::no_state);
    }
    state->retrieve();
    return future<R>(state);
  }
};

}  // namespace detail

}  // namespace weft
