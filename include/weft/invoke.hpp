// invoke.hpp: a call in a ULT of its own: for a kernel thread the way into Weft.
#pragma once

#include <functional>
#include <tuple>
#include <type_traits>
#include <utility>

#include "weft/outcome.hpp"
#include "weft/runtime.hpp"
#include "weft/weft.h"

namespace weft {

// Runs f(args...) in a ULT of its own, and returns its result, or throws its exception, when it has ended.
// f and args are not copied: the caller waits. Not to be mistaken for std::invoke(), which calls here.
// Context: ULT, scheduler, KLT. Suspends; the ULT may run on the caller's stack.
// Throws weft::error: as weft_ult_create() and weft_join(); STATE: the ULT has ended without a result
// (this_thread::exit(), weft_exit(), cancellation).
template <class F, class... A>
  requires(std::is_invocable_v<F, A...>)
std::invoke_result_t<F, A...> invoke(F&& f, A&&... args) {
  struct record {
    std::tuple<F&&, A&&...> call;
    detail::outcome<std::invoke_result_t<F, A...>> result{};

    static void run(void* arg) noexcept {
      auto* self = static_cast<record*>(arg);
      try {
        self->result.call([self]() -> std::invoke_result_t<F, A...> {
          return std::apply(
              [](auto&&... v) -> std::invoke_result_t<F, A...> {
                return std::invoke(std::forward<decltype(v)>(v)...);
              },
              std::move(self->call));
        });
      } catch (const detail::unit_exit&) {  // this_thread::exit(): there is no result
      }
      detail::thread_exits();
    }
  };
  record r{.call = {std::forward<F>(f), std::forward<A>(args)...}};
  detail::check(weft_invoke(&record::run, &r));
  if (r.result.empty()) [[unlikely]] {
    detail::raise(WEFT_ERR_STATE);
  }
  return r.result.take();
}

}  // namespace weft
