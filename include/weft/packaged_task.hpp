// packaged_task.hpp: a callable whose outcome arrives at a future.
#pragma once

#include <atomic>
#include <functional>
#include <future>
#include <memory>
#include <type_traits>
#include <utility>

#include "weft/future.hpp"

namespace weft {
namespace detail {

template <class R, class... A>
class task_state : public future_state<R> {
 public:
  // Both throw promise_already_satisfied: it has been called.
  virtual void run(A... args) = 0;
  virtual void run_until_exit(std::shared_ptr<future_state<R>>&& self, A... args) = 0;
  // A state that has not been called, with the same callable, moved there.
  virtual std::shared_ptr<task_state> renewed() = 0;
};

template <class F, class R, class... A>
class task_call final : public task_state<R, A...> {
 public:
  template <class G>
  explicit task_call(G&& callable) : callable_(std::forward<G>(callable)) {}

  void run(A... args) override {
    begin();
    this->satisfy_by([&]() -> R { return call(std::forward<A>(args)...); });
  }
  void run_until_exit(std::shared_ptr<future_state<R>>&& self, A... args) override {
    begin();
    this->satisfy_by_at_exit(std::move(self), [&]() -> R { return call(std::forward<A>(args)...); });
  }
  std::shared_ptr<task_state<R, A...>> renewed() override {
    return std::make_shared<task_call>(std::move(callable_));
  }

 private:
  // Relaxed: nothing is passed on by it.
  void begin() {
    if (called_.exchange(true, std::memory_order_relaxed)) {
      raise_future(std::future_errc::promise_already_satisfied);
    }
  }

  R call(A&&... args) {
    if constexpr (std::is_void_v<R>) {
      std::invoke(callable_, std::forward<A>(args)...);
    } else {
      return std::invoke(callable_, std::forward<A>(args)...);
    }
  }

  // who calls it
  F callable_;
  // any thread
  std::atomic<bool> called_ = false;
};

}  // namespace detail

template <class Signature>
class packaged_task;

template <class R, class... A>
class packaged_task<R(A...)> {
 public:
  packaged_task() noexcept = default;
  // With a copy of f. Throws std::bad_alloc, and what the copy throws.
  template <class F>
    requires(!std::is_same_v<std::remove_cvref_t<F>, packaged_task> &&
             std::is_invocable_r_v<R, std::decay_t<F>&, A...>)
  explicit packaged_task(F&& f)
      : state_(std::make_shared<detail::task_call<std::decay_t<F>, R, A...>>(std::forward<F>(f))) {}
  packaged_task(packaged_task&&) noexcept = default;
  packaged_task& operator=(packaged_task&& other) noexcept {
    packaged_task(std::move(other)).swap(*this);
    return *this;
  }
  // One that was never called arrives as broken_promise.
  ~packaged_task() {
    if (state_ != nullptr && state_.use_count() > 1) {
      state_->abandon();
    }
  }

  bool valid() const noexcept { return state_ != nullptr; }
  // Throws no_state, future_already_retrieved.
  future<R> get_future() { return detail::future_access<R>::make(state_); }

  // Calls the callable here; its result or exception goes to the future, this_thread::exit() passes.
  // Throws no_state, promise_already_satisfied (it has been called).
  void operator()(A... args) { checked().run(std::forward<A>(args)...); }
  // The same, but ready only when the calling thread ends; exit.hpp says when that is.
  void make_ready_at_thread_exit(A... args) {
    checked().run_until_exit(std::shared_ptr<detail::future_state<R>>(state_),
                             std::forward<A>(args)...);
  }
  // As newly made from the same callable; the future of before arrives as broken_promise. Throws no_state.
  void reset() {
    packaged_task fresh;
    fresh.state_ = checked().renewed();
    swap(fresh);
  }

  void swap(packaged_task& other) noexcept { state_.swap(other.state_); }
  friend void swap(packaged_task& a, packaged_task& b) noexcept { a.swap(b); }

 private:
  detail::task_state<R, A...>& checked() const {
    if (state_ == nullptr) {
      detail::raise_future(std::future_errc::no_state);
    }
    return *state_;
  }

  std::shared_ptr<detail::task_state<R, A...>> state_;
};

namespace detail {

template <class Task>
struct signature_of;
template <class S>
struct signature_of<std::packaged_task<S>> {
  using type = S;
};

}  // namespace detail

// The signature that std::packaged_task finds.
template <class F>
packaged_task(F) -> packaged_task<
    typename detail::signature_of<decltype(std::packaged_task(std::declval<F>()))>::type>;

}  // namespace weft
