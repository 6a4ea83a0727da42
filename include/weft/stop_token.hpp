// stop_token.hpp: asking a thread to stop, with the interface of <stop_token>.
//
// Rejected: std::stop_token itself. It tells the thread that runs the callbacks from others by its kernel
// thread, and the destructor of a callback that runs elsewhere waits in the kernel for its end. Where a
// callback suspends (it may well lock a mutex), another ULT on the same kernel thread would then take
// itself for the one that runs it and not wait at all, or hold the worker that the callback needs.
#pragma once

#include <atomic>
#include <cstddef>
#include <functional>
#include <memory>
#include <mutex>
#include <stop_token>
#include <type_traits>
#include <utility>

#include "weft/sync.hpp"
#include "weft/thread.hpp"

namespace weft {

using std::nostopstate;
using std::nostopstate_t;

namespace detail {

class stop_state;

// A callback as the state sees it. The links are under the state's mutex.
class stop_entry {
 public:
  explicit stop_entry(void (*call)(stop_entry*) noexcept) noexcept : call_(call) {}
  stop_entry(const stop_entry&) = delete;
  stop_entry& operator=(const stop_entry&) = delete;

 private:
  friend stop_state;
  void (*const call_)(stop_entry*) noexcept;
  stop_entry* next_ = nullptr;
  stop_entry** before_ = nullptr;  // what points here; null: not in the list
};

// What sources, tokens and callbacks share.
class stop_state {
 public:
  // Pairs with the release in request(): what was done before the request is seen.
  bool requested() const noexcept { return requested_.load(std::memory_order_acquire); }
  bool possible() const noexcept { return requested() || sources_.load(std::memory_order_relaxed) != 0; }
  // Relaxed: only the number counts.
  void add_source() noexcept { sources_.fetch_add(1, std::memory_order_relaxed); }
  void remove_source() noexcept { sources_.fetch_sub(1, std::memory_order_relaxed); }

  // Calls the callbacks. False: it had been requested already.
  bool request() noexcept {
    std::unique_lock lock(mutex_);
    if (requested_.load(std::memory_order_relaxed)) {
      return false;
    }
    requested_.store(true, std::memory_order_release);
    requester_ = this_thread::get_id();
    while (stop_entry* entry = first_) {
      unlink(entry);
      running_ = entry;
      lock.unlock();
      entry->call_(entry);  // afterwards it may be gone
      lock.lock();
      running_ = nullptr;
      if (event* remover = std::exchange(remover_, nullptr)) {
        remover->set();
      }
    }
    return true;
  }

  // False: stop has been requested; the caller calls its callback itself.
  bool add(stop_entry* entry) noexcept {
    const std::lock_guard lock(mutex_);
    if (requested_.load(std::memory_order_relaxed)) {
      return false;
    }
    entry->next_ = first_;
    entry->before_ = &first_;
    if (first_ != nullptr) {
      first_->before_ = &entry->next_;
    }
    first_ = entry;
    return true;
  }

  // For one that was added. Returns when it neither runs nor will; in the callback itself at once.
  void remove(stop_entry* entry) noexcept {
    std::unique_lock lock(mutex_);
    if (entry->before_ != nullptr) {
      unlink(entry);
    } else if (running_ == entry && requester_ != this_thread::get_id()) {
      event ended;
      remover_ = &ended;  // nobody else destroys this callback
      lock.unlock();
      ended.wait();
    }
  }

 private:
  static void unlink(stop_entry* entry) noexcept {
    *entry->before_ = entry->next_;
    if (entry->next_ != nullptr) {
      entry->next_->before_ = entry->before_;
    }
    entry->before_ = nullptr;
  }

  // any thread
  std::atomic<std::size_t> sources_ = 1;
  // under mutex_; requested_ is also read without
  std::atomic<bool> requested_ = false;
  mutex mutex_;
  thread::id requester_;
  stop_entry* first_ = nullptr;
  stop_entry* running_ = nullptr;
  event* remover_ = nullptr;  // who waits for the end of running_
};

}  // namespace detail

class stop_token {
 public:
  stop_token() noexcept = default;

  // Context: any; do not block.
  bool stop_requested() const noexcept { return state_ != nullptr && state_->requested(); }
  bool stop_possible() const noexcept { return state_ != nullptr && state_->possible(); }

  void swap(stop_token& other) noexcept { state_.swap(other.state_); }
  friend void swap(stop_token& a, stop_token& b) noexcept { a.swap(b); }
  friend bool operator==(const stop_token&, const stop_token&) noexcept = default;

 private:
  friend class stop_source;
  template <class C>
  friend class stop_callback;
  explicit stop_token(std::shared_ptr<detail::stop_state> state) noexcept : state_(std::move(state)) {}

  std::shared_ptr<detail::stop_state> state_;  // null: never stops
};

class stop_source {
 public:
  stop_source() : state_(std::make_shared<detail::stop_state>()) {}
  explicit stop_source(nostopstate_t) noexcept {}
  stop_source(const stop_source& other) noexcept : state_(other.state_) {
    if (state_ != nullptr) {
      state_->add_source();
    }
  }
  stop_source(stop_source&&) noexcept = default;
  stop_source& operator=(stop_source other) noexcept {
    swap(other);
    return *this;
  }
  ~stop_source() {
    if (state_ != nullptr) {
      state_->remove_source();
    }
  }

  stop_token get_token() const noexcept { return stop_token(state_); }
  bool stop_requested() const noexcept { return state_ != nullptr && state_->requested(); }
  bool stop_possible() const noexcept { return state_ != nullptr; }

  // Calls the callbacks here, one after the other; they may suspend. False: somebody has requested it
  // already, or there is no state. A callback that throws ends the program.
  // Context: ULT, KLT; a tasklet if nothing that it would have to wait for comes up: else the program ends.
  bool request_stop() const noexcept {
    const std::shared_ptr<detail::stop_state> state = state_;  // a callback may destroy this source
    return state != nullptr && state->request();
  }

  void swap(stop_source& other) noexcept { state_.swap(other.state_); }
  friend void swap(stop_source& a, stop_source& b) noexcept { a.swap(b); }
  friend bool operator==(const stop_source& a, const stop_source& b) noexcept {
    return a.state_ == b.state_;
  }

 private:
  std::shared_ptr<detail::stop_state> state_;
};

// Calls callback() once stop is requested: in request_stop(), or here where it has been.
// Context of both ends: as request_stop().
template <class Callback>
class [[nodiscard]] stop_callback : private detail::stop_entry {
 public:
  using callback_type = Callback;
  static_assert(std::is_invocable_v<Callback> && std::is_destructible_v<Callback>);

  template <class C>
    requires(std::is_constructible_v<Callback, C>)
  explicit stop_callback(const stop_token& token,
                         C&& callback) noexcept(std::is_nothrow_constructible_v<Callback, C>)
      : stop_callback(stop_token(token), std::forward<C>(callback)) {}
  template <class C>
    requires(std::is_constructible_v<Callback, C>)
  explicit stop_callback(stop_token&& token,
                         C&& callback) noexcept(std::is_nothrow_constructible_v<Callback, C>)
      : stop_entry(&run), callback_(std::forward<C>(callback)) {
    if (!token.stop_possible()) {
      return;
    }
    if (token.state_->add(this)) {
      state_ = std::move(token.state_);
    } else {
      run(this);
    }
  }

  // Waits for a callback that another thread is running.
  ~stop_callback() {
    if (state_ != nullptr) {
      state_->remove(this);
    }
  }

 private:
  static void run(stop_entry* self) noexcept {
    std::invoke(std::forward<Callback>(static_cast<stop_callback*>(self)->callback_));
  }

  std::shared_ptr<detail::stop_state> state_;  // null: not added
  Callback callback_;
};

template <class C>
stop_callback(stop_token, C) -> stop_callback<C>;

}  // namespace weft
