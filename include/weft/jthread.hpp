// jthread.hpp: a thread that is asked to stop, and joined, when its object goes.
#pragma once

#include <type_traits>
#include <utility>

#include "weft/stop_token.hpp"
#include "weft/thread.hpp"

namespace weft {

// As std::jthread; and as weft::thread: join() rethrows the exception that left the callable. One that the
// destructor or the assignment meets ends the program.
class jthread {
 public:
  using id = thread::id;
  using native_handle_type = thread::native_handle_type;

  jthread() noexcept : source_(nostopstate) {}

  // f(token, args...) where f takes a stop_token first, otherwise f(args...); as thread's constructors.
  template <class F, class... A>
    requires(!std::is_same_v<std::remove_cvref_t<F>, jthread> &&
             !std::is_same_v<std::remove_cvref_t<F>, attributes>)
  explicit jthread(F&& f, A&&... args)
      : thread_(start(attributes{}, source_, std::forward<F>(f), std::forward<A>(args)...)) {}
  template <class F, class... A>
  jthread(const attributes& a, F&& f, A&&... args)
      : thread_(start(a, source_, std::forward<F>(f), std::forward<A>(args)...)) {}

  jthread(jthread&&) noexcept = default;
  jthread& operator=(jthread&& other) noexcept {
    jthread(std::move(other)).swap(*this);
    return *this;
  }
  // Context: ULT, scheduler, KLT; suspends.
  ~jthread() {
    if (joinable()) {
      request_stop();
      join();
    }
  }

  bool joinable() const noexcept { return thread_.joinable(); }
  // As those of thread.
  void join() { thread_.join(); }
  void detach() { thread_.detach(); }
  id get_id() const noexcept { return thread_.get_id(); }
  native_handle_type native_handle() const noexcept { return thread_.native_handle(); }

  stop_source get_stop_source() noexcept { return source_; }
  stop_token get_stop_token() const noexcept { return source_.get_token(); }
  bool request_stop() noexcept { return source_.request_stop(); }

  void swap(jthread& other) noexcept {
    source_.swap(other.source_);
    thread_.swap(other.thread_);
  }
  friend void swap(jthread& a, jthread& b) noexcept { a.swap(b); }

  static unsigned hardware_concurrency() noexcept { return thread::hardware_concurrency(); }

 private:
  template <class F, class... A>
  static thread start(const attributes& a, const stop_source& source, F&& f, A&&... args) {
    if constexpr (std::is_invocable_v<std::decay_t<F>, stop_token, std::decay_t<A>...>) {
      return thread(a, std::forward<F>(f), source.get_token(), std::forward<A>(args)...);
    } else {
      static_assert(std::is_invocable_v<std::decay_t<F>, std::decay_t<A>...>,
                    "the callable of a weft::jthread takes (weft::stop_token, its arguments) or its "
                    "arguments alone");
      return thread(a, std::forward<F>(f), std::forward<A>(args)...);
    }
  }

  stop_source source_;
  thread thread_;
};

}  // namespace weft
