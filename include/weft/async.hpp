// async.hpp: a call in a ULT of its own, or put off until somebody asks for its result.
//
// The state of the future joins the ULT: whoever waits for a fresh one runs it on his own stack.
// Rejected: a detached ULT that sets the future (each is then run by a scheduler, and each wait suspends).
#pragma once

#include <functional>
#include <future>
#include <memory>
#include <tuple>
#include <type_traits>
#include <utility>

#include "weft/future.hpp"

namespace weft {
namespace detail {

template <class F, class... A>
using async_result = std::invoke_result_t<std::decay_t<F>, std::decay_t<A>...>;

// A call with copies of its arguments, by a ULT once it is started, otherwise by the first that waits.
template <class R, class... T>
class async_state final : public future_state<R> {
 public:
  template <class... U>
  explicit async_state(std::in_place_t, U&&... u) : values_(std::forward<U>(u)...) {}
  // Waits for the end of the ULT; ends the program where that is impossible (a tasklet, the ULT itself).
  ~async_state() override {
    if (unit_ != nullptr) {
      check(weft_free(&unit_));
    }
  }

  int start() noexcept { return weft_ult_create(&run, this, nullptr, &unit_); }

 private:
  static void run(void* arg) noexcept {
    auto* self = static_cast<async_state*>(arg);
    try {
      self->satisfy_by([self]() -> R { return self->call(); });
    } catch (const unit_exit&) {  // this_thread::exit(); after a weft_exit() a waiter finds out, in finish()
      self->abandon();
    }
    thread_exits();
  }

  R call() {
    return std::apply([](auto&... v) -> R { return std::invoke(std::move(v)...); }, values_);
  }

  void finish() override {
    if (unit_ != nullptr) {
      call_once(joined_, [this] { check(weft_join(unit_)); });
      this->abandon();  // it has ended: if it left nothing, nobody will
      return;
    }
    try {
      this->satisfy([this](outcome<R>& o) { o.call([this]() -> R { return call(); }); });
    } catch (const std::future_error&) {  // another waiter has called it
    }
  }
  bool deferred() const noexcept override { return unit_ == nullptr; }

  std::tuple<T...> values_;
  once_flag joined_;
  weft_unit_t unit_ = nullptr;  // constant once the future is made; null: deferred
};

}  // namespace detail

// f(args...) with copies of both, as std::async: with launch::async in a ULT, with launch::deferred in the
// first get() or wait() of the future, with both in a ULT unless memory for one is lacking. The last future
// of a ULT waits for its end in its destructor.
// Context: any; does not block. The destructor of the last future: ULT, scheduler, KLT.
// Throws weft::error as weft_ult_create(), INVALID (no policy); std::bad_alloc; what the copies throw.
template <class F, class... A>
  requires(std::is_invocable_v<std::decay_t<F>, std::decay_t<A>...>)
[[nodiscard]] future<detail::async_result<F, A...>> async(std::launch policy, F&& f, A&&... args) {
  using R = detail::async_result<F, A...>;
  const auto allows = [policy](std::launch p) { return (policy & p) == p; };
  auto state = std::make_shared<detail::async_state<R, std::decay_t<F>, std::decay_t<A>...>>(
      std::in_place, std::forward<F>(f), std::forward<A>(args)...);
  const int failure = allows(std::launch::async) ? state->start() : WEFT_ERR_INVALID;
  const bool may_defer = !allows(std::launch::async) || failure == WEFT_ERR_NO_MEMORY;
  if (!may_defer || !allows(std::launch::deferred)) {
    detail::check(failure);
  }
  return detail::future_access<R>::make(std::move(state));
}

template <class F, class... A>
  requires(!std::is_same_v<std::remove_cvref_t<F>, std::launch> &&
           std::is_invocable_v<std::decay_t<F>, std::decay_t<A>...>)
[[nodiscard]] future<detail::async_result<F, A...>> async(F&& f, A&&... args) {
  return weft::async(std::launch::async | std::launch::deferred, std::forward<F>(f),
                     std::forward<A>(args)...);
}

}  // namespace weft
