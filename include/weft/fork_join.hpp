// fork_join.hpp: run several callables, maybe at the same time, and wait for all of them.
//
// Idea: all but the first are offered to other workers by records that lie in the caller's frame;
// whatever nobody has taken by the time its turn comes is called like any function. So a fork that
// is not stolen costs a push, a pop and a few stores: no allocation, no unit, no exception object.
//
// Order: the last callable is pushed first and popped last, so that the newest record is always the
// one popped next. Each level below has the record of one callable in its frame and calls the level
// of the callable before it; when an exception comes up through a level, that level first completes
// its own callable, so the exception of the earliest callable is what reaches the caller.
#pragma once

#include <cstddef>
#include <exception>
#include <functional>
#include <memory>
#include <new>
#include <tuple>
#include <type_traits>
#include <utility>
#include <variant>

#include "weft/weft.h"

namespace weft {
namespace detail {

// A void result takes part in the tuple as std::monostate.
template <class R>
using lifted = std::conditional_t<std::is_void_v<R>, std::monostate, R>;

template <class F>
using fork_result = std::invoke_result_t<std::remove_reference_t<F>&>;

template <class F>
[[gnu::always_inline]] inline lifted<fork_result<F>> call_lifted(F& f) {
  if constexpr (std::is_void_v<fork_result<F>>) {
    std::invoke(f);
    return {};
  } else {
    return std::invoke(f);
  }
}

// What a stolen callable is called through. A small trivial temporary is copied, so that the
// original's captures can stay in registers; anything else is referred to.
template <class F>
consteval bool fork_by_copy() {
  using Object = std::remove_reference_t<F>;
  if constexpr (std::is_lvalue_reference_v<F> || !std::is_trivially_copyable_v<Object> ||
                !std::is_copy_constructible_v<Object>) {
    return false;
  } else {
    return sizeof(Object) <= 32;
  }
}

template <class F, bool kByCopy = fork_by_copy<F>()>
struct fork_callable {
  [[gnu::always_inline]] explicit fork_callable(std::remove_reference_t<F>& f) : callable(f) {}
  std::remove_reference_t<F>& get() { return callable; }
  std::remove_const_t<std::remove_reference_t<F>> callable;
};

template <class F>
struct fork_callable<F, false> {
  [[gnu::always_inline]] explicit fork_callable(std::remove_reference_t<F>& f) : callable(f) {}
  std::remove_reference_t<F>& get() { return callable; }
  std::remove_reference_t<F>& callable;
};

// The record of one offered callable. Everything after `callable` is written by a thief only: the
// path without steals does not touch it.
template <class F>
class fork_record : public weft_fork_t {
 public:
  using value_type = lifted<fork_result<F>>;

  [[gnu::always_inline]] explicit fork_record(std::remove_reference_t<F>& f) : callable_(f) {
    this->invoke = &run;
  }
  fork_record(const fork_record&) = delete;
  fork_record& operator=(const fork_record&) = delete;
  ~fork_record() = default;

  // Calls f here, or takes over the result of the worker that has called it.
  [[gnu::always_inline]] value_type join(std::remove_reference_t<F>& f) {
    if (weft_fork_pop(this)) [[likely]] {
      return call_lifted(f);
    }
    return take();
  }

  // An earlier callable has thrown: completes this one and drops its outcome. Works on the copy, so
  // that the original need not be in memory.
  [[gnu::cold, gnu::noinline]] void drop() noexcept {
    try {
      join(callable_.get());
    } catch (...) {  // the earlier callable's exception is the one that is reported
    }
  }

 private:
  enum class Outcome : unsigned char { Value, Error };
  // A reference travels as a pointer.
  using stored_type =
      std::conditional_t<std::is_reference_v<value_type>, std::remove_reference_t<value_type>*,
                         std::remove_cv_t<value_type>>;

  // Context: the thief.
  static void run(weft_fork_t* fork) noexcept {
    auto* self = static_cast<fork_record*>(fork);
    try {
      if constexpr (std::is_reference_v<value_type>) {
        ::new (self->space_) stored_type(std::addressof(call_lifted(self->callable_.get())));
      } else {
        ::new (self->space_) stored_type(call_lifted(self->callable_.get()));
      }
      self->outcome_ = Outcome::Value;
    } catch (...) {
      ::new (self->space_) std::exception_ptr(std::current_exception());
      self->outcome_ = Outcome::Error;
    }
  }

  template <class T>
  struct stored {
    T* object;
    ~stored() { std::destroy_at(object); }
  };
  template <class T>
  T* space() noexcept {
    return std::launder(reinterpret_cast<T*>(space_));
  }

  [[gnu::cold, gnu::noinline]] value_type take() {
    if (outcome_ == Outcome::Error) {
      const stored<std::exception_ptr> error{space<std::exception_ptr>()};
      std::rethrow_exception(*error.object);
    }
    const stored<stored_type> value{space<stored_type>()};
    if constexpr (std::is_reference_v<value_type>) {
      return static_cast<value_type>(**value.object);
    } else {
      return std::move(*value.object);
    }
  }

  fork_callable<F> callable_;
  Outcome outcome_;
  static constexpr std::size_t kSpace = sizeof(stored_type) > sizeof(std::exception_ptr)
                                            ? sizeof(stored_type)
                                            : sizeof(std::exception_ptr);
  static constexpr std::size_t kAlign = alignof(stored_type) > alignof(std::exception_ptr)
                                            ? alignof(stored_type)
                                            : alignof(std::exception_ptr);
  alignas(kAlign) std::byte space_[kSpace];
};

// Runs callables 0 … kLast of the tuple of references; returns the tuple of their results.
template <std::size_t kLast, class References>
[[gnu::always_inline]] inline auto fork_level(References& all) {
  using Last = std::tuple_element_t<kLast, References>;
  auto& f = std::get<kLast>(all);
  if constexpr (kLast == 0) {
    return std::tuple<lifted<fork_result<Last>>>(call_lifted(f));
  } else {
    fork_record<Last> record(f);
    weft_fork_push(&record);
    auto head = [&]() __attribute__((always_inline)) {
      try {
        return fork_level<kLast - 1>(all);
      } catch (...) {
        record.drop();
        throw;
      }
    }();
    return std::tuple_cat(std::move(head), std::tuple<lifted<fork_result<Last>>>(record.join(f)));
  }
}

}  // namespace detail

// Calls every callable, the first one at once and here, the others here in their order or, where
// workers are idle, on other workers at the same time. Returns, when all have ended, a tuple of
// their results (std::monostate for a void one; no tuple but void if all are void).
//
// Exceptions: all callables are completed first; then the one of the earliest argument is rethrown,
// and others are dropped. Callables are called as lvalues.
// Context: ULT, tasklet; elsewhere (scheduler, KLT, no runtime) all are called here, in order. May
// suspend (a tasklet blocks its worker); the caller may continue on another KLT. A callable ends by
// returning or throwing, not by weft_exit() or cancellation.
template <class... F>
  requires(sizeof...(F) >= 1 && (std::is_invocable_v<std::remove_reference_t<F>&> && ...))
[[gnu::always_inline]] inline auto fork_join(F&&... f) {
  std::tuple<F&&...> all(std::forward<F>(f)...);
  if constexpr ((std::is_void_v<detail::fork_result<F>> && ...)) {
    static_cast<void>(detail::fork_level<sizeof...(F) - 1>(all));
  } else {
    return detail::fork_level<sizeof...(F) - 1>(all);
  }
}

}  // namespace weft
