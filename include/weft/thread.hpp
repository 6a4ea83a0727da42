// thread.hpp: weft::thread, a ULT with the interface of std::thread.
//
// What differs from std::thread: an exception that leaves the callable travels to join(), which
// rethrows it (of a detached thread: std::terminate()); and a thread can be given attributes.
#pragma once

#include <sys/syscall.h>
#include <unistd.h>

#include <chrono>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <ostream>
#include <tuple>
#include <type_traits>
#include <utility>

#include "weft/exit.hpp"
#include "weft/runtime.hpp"
#include "weft/time.hpp"
#include "weft/weft.h"

namespace weft {

// Fields as in weft_unit_attr_t: weft::thread t(weft::attributes{.name = "reader"}, f);
struct attributes {
  const char* name = nullptr;
  std::size_t stack_size = 0;
  void* stack_memory = nullptr;
  weft_pool_t pool = nullptr;
  weft_worker_t worker = nullptr;
  weft_technique_t technique = WEFT_TECHNIQUE_AUTO;
  weft_fp_environment_t fp_environment = WEFT_FP_SHARED;
  int priority = WEFT_PRIORITY_DEFAULT;
  bool pinned = false;
  weft_preemption_t preemption = WEFT_PREEMPTION_DEFAULT;
  weft_identity_t identity = WEFT_IDENTITY_WORKER;
  weft_blocking_t blocking = WEFT_BLOCKING_DEFAULT;

  weft_unit_attr_t native() const noexcept {
    return {name,      stack_size,     stack_memory, pool,  worker,
            technique, fp_environment, priority,     pinned, preemption, identity, blocking};
  }
};

namespace detail {

// What a thread and its owner share. The owner frees it, after the join.
class thread_state {
 public:
  thread_state() = default;
  thread_state(const thread_state&) = delete;
  thread_state& operator=(const thread_state&) = delete;
  virtual ~thread_state() = default;

  // The unit's function.
  static void run(void* state) noexcept {
    auto* self = static_cast<thread_state*>(state);
    try {
      self->invoke();
    } catch (const unit_exit&) {  // this_thread::exit(): a normal end
    } catch (...) {
      self->error = std::current_exception();
    }
    thread_exits();
  }

  // The unit, which is the owner's, or the reaper's after detach().
  weft_unit_t unit = nullptr;
  std::exception_ptr error;

 private:
  virtual void invoke() = 0;
};

template <class... T>
class thread_call final : public thread_state {
 public:
  template <class... U>
  explicit thread_call(U&&... u) : values_(std::forward<U>(u)...) {}

 private:
  void invoke() override {
    std::apply([](auto&... v) { std::invoke(std::move(v)...); }, values_);
  }
  std::tuple<T...> values_;
};

// The function of the ULT that joins a detached thread and frees what it leaves.
inline void reap(void* state) noexcept {
  std::unique_ptr<thread_state> self(static_cast<thread_state*>(state));
  weft_free(&self->unit);
  if (self->error) {
    std::terminate();
  }
}

}  // namespace detail

class thread {
 public:
  using native_handle_type = weft_unit_t;

  // Names a thread, or none. Never used twice in a process.
  class id {
   public:
    id() noexcept = default;
    friend bool operator==(id, id) noexcept = default;
    friend std::strong_ordering operator<=>(id, id) noexcept = default;
    template <class C, class T>
    friend std::basic_ostream<C, T>& operator<<(std::basic_ostream<C, T>& out, id i) {
      return out << i.value_;
    }

   private:
    friend class thread;
    friend struct std::hash<id>;
    friend id this_thread_id() noexcept;
    explicit id(std::uint64_t value) noexcept : value_(value) {}
    std::uint64_t value_ = 0;
  };

  thread() noexcept = default;

  // Starts a ULT that calls copies of f with copies of args, moved, as std::thread does.
  // Context: any. Does not block. Throws weft::error as weft_ult_create(), std::bad_alloc, and what
  // the copies throw.
  template <class F, class... A>
    requires(!std::is_same_v<std::remove_cvref_t<F>, thread> &&
             !std::is_same_v<std::remove_cvref_t<F>, attributes> &&
             std::is_invocable_v<std::decay_t<F>, std::decay_t<A>...>)
  explicit thread(F&& f, A&&... args) {
    start(nullptr, std::forward<F>(f), std::forward<A>(args)...);
  }

  // The same, with attributes.
  template <class F, class... A>
    requires(std::is_invocable_v<std::decay_t<F>, std::decay_t<A>...>)
  thread(const attributes& a, F&& f, A&&... args) {
    const weft_unit_attr_t native = a.native();
    start(&native, std::forward<F>(f), std::forward<A>(args)...);
  }

  thread(thread&& other) noexcept : state_(std::exchange(other.state_, nullptr)) {}
  thread& operator=(thread&& other) noexcept {
    if (joinable()) {
      std::terminate();
    }
    state_ = std::exchange(other.state_, nullptr);
    return *this;
  }
  // As std::thread: one that was neither joined nor detached ends the program.
  ~thread() {
    if (joinable()) {
      std::terminate();
    }
  }

  bool joinable() const noexcept { return state_ != nullptr; }

  // Waits for the end; then rethrows the exception that left the callable. A fresh thread may be
  // run right here, on the caller's stack. Context: ULT, scheduler, KLT. Suspends.
  // Throws weft::error: INVALID (not joinable), SELF, CONTEXT (tasklet); it is joinable still. Also FORKED (a
  // forked child, and the thread stayed behind): then it is not, and what the callable holds is left as it is.
  void join() {
    if (!joinable()) {
      detail::raise(WEFT_ERR_INVALID);
    }
    const int result = weft_free(&state_->unit);
    if (result == WEFT_ERR_FORKED) [[unlikely]] {
      state_ = nullptr;
    }
    detail::check(result);
    std::exception_ptr error = std::move(state_->error);
    delete std::exchange(state_, nullptr);
    if (error) [[unlikely]] {
      std::rethrow_exception(std::move(error));
    }
  }

  // Lets it run on alone. It still has to end before weft_finalize(). Context: any.
  // Throws weft::error: INVALID (not joinable), NO_MEMORY; it is joinable still.
  void detach() {
    if (!joinable()) {
      detail::raise(WEFT_ERR_INVALID);
    }
    detail::check(weft_ult_create(&detail::reap, state_, nullptr, nullptr));
    state_ = nullptr;
  }

  id get_id() const noexcept { return joinable() ? id(weft_unit_id(state_->unit)) : id(); }

  // The ULT, for the functions of weft.h; null if not joinable. It stays this object's: do not join
  // or free it.
  native_handle_type native_handle() const noexcept { return joinable() ? state_->unit : nullptr; }

  void swap(thread& other) noexcept { std::swap(state_, other.state_); }
  friend void swap(thread& a, thread& b) noexcept { a.swap(b); }

  // The number of workers; before the runtime runs, of CPUs. Context: any.
  static unsigned hardware_concurrency() noexcept {
    const unsigned workers = weft_initialized() ? weft_worker_count() : 0;
    return workers != 0 ? workers : static_cast<unsigned>(::sysconf(_SC_NPROCESSORS_ONLN));
  }

 private:
  template <class... T>
  void start(const weft_unit_attr_t* attr, T&&... values) {
    auto state =
        std::make_unique<detail::thread_call<std::decay_t<T>...>>(std::forward<T>(values)...);
    detail::thread_state* base = state.get();
    detail::check(weft_ult_create(&detail::thread_state::run, base, attr, &base->unit));
    state_ = state.release();
  }

  detail::thread_state* state_ = nullptr;  // null: not joinable
};

// The caller's id: of its ULT or tasklet; outside of them one made of the kernel's thread id.
inline thread::id this_thread_id() noexcept {
  constexpr std::uint64_t kKernelThread = std::uint64_t{1} << 63;
  const weft_unit_t self = weft_self();
  return thread::id(self != nullptr ? weft_unit_id(self)
                                    : kKernelThread | static_cast<std::uint64_t>(::syscall(SYS_gettid)));
}

namespace this_thread {

inline thread::id get_id() noexcept { return this_thread_id(); }

// Lets other ready units run first. Context: any; in a tasklet it does nothing.
inline void yield() noexcept { weft_yield(); }

// Suspends; the worker runs others meanwhile. Context: ULT, KLT; of a main scheduler it stops the worker.
// Throws CONTEXT (tasklet).
template <class Clock, class Duration>
void sleep_until(const std::chrono::time_point<Clock, Duration>& t) {
  while (Clock::now() < t) {
    detail::check(weft_sleep_until(detail::deadline_at(t)));
  }
}
template <class Rep, class Period>
void sleep_for(const std::chrono::duration<Rep, Period>& d) {
  if (const std::uint64_t ns = detail::nanoseconds_of(d); ns != 0) {
    detail::check(weft_sleep_until(weft_after(ns)));
  }
}

// Ends the calling thread; destructors of what is on its stack run. In a callable of fork_join() it
// ends the thread that called fork_join(), once the other callables have ended.
// Context: inside the callable of a weft::thread or of a task_group.
[[noreturn]] inline void exit() { throw detail::unit_exit{}; }

// Ends here if somebody has cancelled this ULT. As with weft_exit(), destructors do not run.
inline void cancel_point() { weft_cancel_point(); }

}  // namespace this_thread
}  // namespace weft

template <>
struct std::hash<weft::thread::id> {
  std::size_t operator()(weft::thread::id i) const noexcept {
    return std::hash<std::uint64_t>{}(i.value_);
  }
};
