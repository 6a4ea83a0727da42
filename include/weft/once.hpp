// once.hpp: call_once(): what several threads need done, done by one of them.
#pragma once

#include <exception>
#include <functional>
#include <memory>
#include <type_traits>
#include <utility>

#include "weft/runtime.hpp"
#include "weft/weft.h"

namespace weft {
namespace detail {

template <class F>
struct once_call {
  F& call;
  std::exception_ptr error = nullptr;

  static bool run(void* self) noexcept {
    auto* me = static_cast<once_call*>(self);
    try {
      me->call();
      return true;
    } catch (...) {
      me->error = std::current_exception();
      return false;
    }
  }
};

}  // namespace detail

class once_flag {
 public:
  constexpr once_flag() noexcept = default;
  once_flag(const once_flag&) = delete;
  once_flag& operator=(const once_flag&) = delete;

 private:
  template <class F, class... A>
    requires(std::is_invocable_v<F, A...>)
  friend void call_once(once_flag& flag, F&& f, A&&... args);

  weft_once_t once_ = WEFT_ONCE_INIT;
};

// The first caller calls f(args...), the others wait until that has returned, and call nothing. If it
// throws, the exception goes to its caller, and the next caller calls.
// Context: any; suspends while another calls. f may suspend; it must not come back to the same flag.
// Throws also CONTEXT (it would have to wait in a tasklet).
template <class F, class... A>
  requires(std::is_invocable_v<F, A...>)
void call_once(once_flag& flag, F&& f, A&&... args) {
  auto call = [&] { static_cast<void>(std::invoke(std::forward<F>(f), std::forward<A>(args)...)); };
  detail::once_call<decltype(call)> once{call};
  const int error = weft_once(&flag.once_, &once.run, &once);
  if (once.error != nullptr) [[unlikely]] {
    std::rethrow_exception(std::move(once.error));
  }
  detail::check(error);
}

}  // namespace weft
