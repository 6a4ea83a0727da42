// future_state.hpp: what a promise and its futures share: room for an outcome, who may fill it, and an
// event for those who wait for it.
#pragma once

#include <atomic>
#include <chrono>
#include <exception>
#include <future>
#include <memory>
#include <type_traits>
#include <utility>

#include "weft/exit.hpp"
#include "weft/once.hpp"
#include "weft/outcome.hpp"
#include "weft/sync.hpp"

namespace weft {

using std::future_category;
using std::future_errc;
using std::future_error;
using std::future_status;
using std::launch;
using std::make_error_code;
using std::make_error_condition;

namespace detail {

[[noreturn, gnu::cold, gnu::noinline]] inline void raise_future(std::future_errc code) {
  throw std::future_error(code);
}

template <class R>
class future_state {
 public:
  future_state() = default;
  future_state(const future_state&) = delete;
  future_state& operator=(const future_state&) = delete;
  virtual ~future_state() = default;

  // Throws future_already_retrieved the second time. Relaxed: nothing is passed on by it.
  void retrieve() {
    if (retrieved_.exchange(true, std::memory_order_relaxed)) {
      raise_future(std::future_errc::future_already_retrieved);
    }
  }

  // fill(outcome) leaves something there; if it throws, the state is as before. At once the waiters pass.
  // Throws promise_already_satisfied.
  template <class F>
  void satisfy(F&& fill) {
    fill_once(std::forward<F>(fill));
    ready_.set();
  }
  // The same, but they pass when the calling thread ends.
  template <class F>
  static void satisfy_at_exit(const std::shared_ptr<future_state>& self, F&& fill) {
    // First, because it may fail: an outcome that is there must become ready.
    exit_set& at_exit = at_thread_exit(exit_set{self});
    self->fill_once(std::forward<F>(fill));
    at_exit.filled = true;
  }
  // What call() gives, or throws, by the one who alone may fill it. Others are not kept waiting meanwhile: a
  // callable that ends its ULT for good, by weft_exit(), leaves a state that can be abandoned.
  template <class F>
  void satisfy_by(F&& call) {
    fill_by(std::forward<F>(call));
    ready_.set();
  }
  template <class F>
  static void satisfy_by_at_exit(std::shared_ptr<future_state> self, F&& call) {
    future_state& state = *self;
    // Moved: a reference of this frame would never be given back after a weft_exit().
    exit_set& at_exit = at_thread_exit(exit_set{std::move(self)});
    state.fill_by(std::forward<F>(call));
    at_exit.filled = true;
  }
  // Nobody will fill it any more.
  void abandon() noexcept {
    bool mine = false;
    call_once(filled_, [&] {
      outcome_.fail(std::make_exception_ptr(std::future_error(std::future_errc::broken_promise)));
      mine = true;
    });
    if (mine) {
      ready_.set();
    }
  }

  bool is_ready() const noexcept { return ready_.is_set(); }
  void wait() {
    if (!is_ready()) {
      finish();
      ready_.wait();
    }
  }
  template <class Rep, class Period>
  std::future_status wait_for(const std::chrono::duration<Rep, Period>& d) {
    return status([&] { return ready_.wait_for(d); });
  }
  template <class Clock, class Duration>
  std::future_status wait_until(const std::chrono::time_point<Clock, Duration>& t) {
    return status([&] { return ready_.wait_until(t); });
  }

  // Precondition of both: wait() has returned.
  R take() { return outcome_.take(); }
  decltype(auto) get() const { return std::as_const(outcome_).get(); }

 private:
  // Left with the thread that fills it.
  struct exit_set {
    void operator()() noexcept {
      if (filled) {
        state->ready_.set();
      }
    }
    std::shared_ptr<future_state> state;
    bool filled = false;
  };

  // What a waiter does for the outcome to come: calls a deferred function, or joins a thread.
  virtual void finish() {}
  virtual bool deferred() const noexcept { return false; }

  template <class F>
  void fill_once(F&& fill) {
    bool mine = false;
    call_once(filled_, [&] {
      fill(outcome_);
      mine = true;
    });
    if (!mine) {
      raise_future(std::future_errc::promise_already_satisfied);
    }
  }

  template <class F>
  void fill_by(F&& call) {
    outcome_.call(std::forward<F>(call));
    fill_once([](outcome<R>&) {});
  }

  template <class W>
  std::future_status status(W wait) {
    if (is_ready()) {
      return std::future_status::ready;
    }
    if (deferred()) {
      return std::future_status::deferred;
    }
    return wait() ? std::future_status::ready : std::future_status::timeout;
  }

  // whoever fills it, before filled_ is done; then constant (the one future may move it out)
  outcome<R> outcome_;
  // any thread
  once_flag filled_;
  event ready_;
  std::atomic<bool> retrieved_ = false;
};

}  // namespace detail
}  // namespace weft
