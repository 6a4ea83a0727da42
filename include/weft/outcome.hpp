// outcome.hpp: what a call on another stack leaves behind: a value, a reference, nothing, or an exception.
#pragma once

#include <exception>
#include <memory>
#include <optional>
#include <type_traits>
#include <utility>
#include <variant>

#include "weft/exit.hpp"

namespace weft::detail {

template <class R>
class outcome {
 public:
  // A reference is kept as a pointer.
  using stored_type = std::conditional_t<
      std::is_void_v<R>, std::monostate,
      std::conditional_t<std::is_reference_v<R>, std::remove_reference_t<R>*, std::remove_cv_t<R>>>;

  bool empty() const noexcept { return !value_.has_value() && error_ == nullptr; }

  template <class... V>
  void emplace(V&&... v) {
    value_.emplace(std::forward<V>(v)...);
  }
  void fail(std::exception_ptr error) noexcept { error_ = std::move(error); }

  // f(), whose exception is kept; only this_thread::exit() passes.
  template <class F>
  void call(F&& f) {
    try {
      if constexpr (std::is_void_v<R>) {
        std::forward<F>(f)();
        emplace();
      } else if constexpr (std::is_reference_v<R>) {
        R result = std::forward<F>(f)();
        emplace(std::addressof(result));
      } else {
        emplace(std::forward<F>(f)());
      }
    } catch (const unit_exit&) {
      throw;
    } catch (...) {
      fail(std::current_exception());
    }
  }

  // Moves the value out, or throws the exception. Precondition of both: not empty.
  R take() {
    check_error();
    if constexpr (std::is_reference_v<R>) {
      return static_cast<R>(**value_);
    } else if constexpr (!std::is_void_v<R>) {
      return std::move(*value_);
    }
  }
  // Leaves it there.
  decltype(auto) get() const {
    check_error();
    if constexpr (std::is_reference_v<R>) {
      return static_cast<R>(**value_);
    } else if constexpr (!std::is_void_v<R>) {
      return static_cast<const R&>(*value_);
    }
  }

 private:
  void check_error() const {
    if (error_ != nullptr) [[unlikely]] {
      std::rethrow_exception(error_);
    }
  }

  std::optional<stored_type> value_;
  std::exception_ptr error_;
};

}  // namespace weft::detail
