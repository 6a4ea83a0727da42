// channel.hpp: channel<T>, a bounded queue between any number of senders and receivers.
//
//   weft::channel<job> jobs(100);                   // a sender waits while it holds 100
//   jobs.send(make_job());                          // ...
//   jobs.close();                                   // receivers get what is left
//   for (job& j : jobs) { ... }                     // until it is closed and empty
//
// Elements that can be copied as bytes are; others travel as a pointer to a node on the heap, so that no
// constructor of the program runs while the channel is locked.
#pragma once

#include <chrono>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <memory>
#include <new>
#include <optional>
#include <type_traits>
#include <utility>

#include "weft/runtime.hpp"
#include "weft/time.hpp"
#include "weft/weft.h"

namespace weft {

enum class channel_status {
  done,     // sent, or received
  busy,     // try_...: it would have to wait
  timeout,  // the time came first
  closed,   // nothing more is sent; a receiver has got everything that was
};

// An element, or the reason why there is none.
template <class T>
class channel_result : public std::optional<T> {
 public:
  channel_result(channel_status status) noexcept : status_(status) {}
  template <class... V>
  explicit channel_result(std::in_place_t, V&&... v)
      : std::optional<T>(std::in_place, std::forward<V>(v)...), status_(channel_status::done) {}

  channel_status status() const noexcept { return status_; }

 private:
  channel_status status_;
};

template <std::movable T>
class channel {
 public:
  using value_type = T;
  using native_handle_type = weft_channel_t;
  class iterator;

  // With capacity 0 a sender waits until a receiver has its element. Throws NO_MEMORY.
  explicit channel(std::size_t capacity) {
    detail::check(weft_channel_create(capacity, sizeof(carried), &channel_));
  }
  channel(const channel&) = delete;
  channel& operator=(const channel&) = delete;
  // Drops what is left. Nobody may be in a call of it any more: one that waits ends the program.
  ~channel() {
    if constexpr (!kByBytes) {
      carried left;
      while (weft_channel_tryreceive(channel_, &left) == WEFT_OK) {
        delete left;
      }
    }
    detail::check(weft_channel_free(&channel_));
  }

  // False: it is closed. What is not sent stays in `element`, as of all that follow.
  // Context: any; suspends. Throws CONTEXT (it would have to wait in a tasklet), std::bad_alloc.
  bool send(T&& element) {
    return send_by([this](const void* e) { return weft_channel_send(channel_, e); }, element) ==
           channel_status::done;
  }
  bool send(const T& element)
    requires(std::copy_constructible<T>)
  {
    return send(T(element));
  }
  // done, busy or closed. Context: any; does not wait.
  channel_status try_send(T&& element) {
    return send_by([this](const void* e) { return weft_channel_trysend(channel_, e); }, element);
  }
  channel_status try_send(const T& element)
    requires(std::copy_constructible<T>)
  {
    return try_send(T(element));
  }
  // done, timeout or closed. Context and what they throw: as send().
  template <class Clock, class Duration>
  channel_status send_until(T&& element, const std::chrono::time_point<Clock, Duration>& t) {
    const auto send = [this, &t](const void* e) {
      return detail::wait_until(t, [this, e](std::uint64_t deadline) {
        return weft_channel_send_until(channel_, e, deadline);
      });
    };
    return send_by(send, element);
  }
  template <class Clock, class Duration>
  channel_status send_until(const T& element, const std::chrono::time_point<Clock, Duration>& t)
    requires(std::copy_constructible<T>)
  {
    return send_until(T(element), t);
  }
  template <class Rep, class Period>
  channel_status send_for(T&& element, const std::chrono::duration<Rep, Period>& d) {
    const auto send = [this, deadline = detail::deadline_after(d)](const void* e) {
      return weft_channel_send_until(channel_, e, deadline);
    };
    return send_by(send, element);
  }
  template <class Rep, class Period>
  channel_status send_for(const T& element, const std::chrono::duration<Rep, Period>& d)
    requires(std::copy_constructible<T>)
  {
    return send_for(T(element), d);
  }

  // The oldest element, or nothing: it is closed, and empty.
  // Context: any; suspends. Throws CONTEXT (it would have to wait in a tasklet), and what moving throws:
  // then the element is lost.
  channel_result<T> receive() {
    return receive_by([this](void* e) { return weft_channel_receive(channel_, e); });
  }
  // Status: done, busy or closed. Context: any; does not wait.
  channel_result<T> try_receive() {
    return receive_by([this](void* e) { return weft_channel_tryreceive(channel_, e); });
  }
  // Status: done, timeout or closed. Context and what they throw: as receive().
  template <class Clock, class Duration>
  channel_result<T> receive_until(const std::chrono::time_point<Clock, Duration>& t) {
    return receive_by([this, &t](void* e) {
      return detail::wait_until(t, [this, e](std::uint64_t deadline) {
        return weft_channel_receive_until(channel_, e, deadline);
      });
    });
  }
  template <class Rep, class Period>
  channel_result<T> receive_for(const std::chrono::duration<Rep, Period>& d) {
    return receive_by([this, deadline = detail::deadline_after(d)](void* e) {
      return weft_channel_receive_until(channel_, e, deadline);
    });
  }

  // Nothing more is sent. False: it is closed already. Context: any; does not block.
  bool close() { return detail::check_unless(weft_channel_close(channel_), WEFT_ERR_STATE); }

  // Elements in it: a moment's figure. Context: any.
  std::size_t size() const noexcept { return weft_channel_size(channel_); }

  // Receives until it is closed and empty. Several may do so at once; each element goes to one of them.
  iterator begin() { return iterator(*this); }
  std::default_sentinel_t end() const noexcept { return {}; }

  native_handle_type native_handle() const noexcept { return channel_; }

 private:
  static constexpr bool kByBytes =
      std::is_trivially_copyable_v<T> && std::is_trivially_destructible_v<T>;
  // What weft_channel_t copies.
  struct bytes {
    alignas(T) std::byte at[sizeof(T)];
  };
  using carried = std::conditional_t<kByBytes, bytes, T*>;

  static channel_status status_of(int error) {
    switch (error) {
      case WEFT_OK: return channel_status::done;
      case WEFT_ERR_BUSY: return channel_status::busy;
      case WEFT_ERR_TIMEOUT: return channel_status::timeout;
      case WEFT_ERR_CLOSED: return channel_status::closed;
      default: detail::raise(error);
    }
  }

  template <class S>
  static channel_status send_by(S send, T& element) {
    if constexpr (kByBytes) {
      return status_of(send(std::addressof(element)));
    } else {
      auto node = std::make_unique<T>(std::move(element));
      T* const sent = node.get();
      const int error = send(&sent);
      if (error == WEFT_OK) [[likely]] {
        static_cast<void>(node.release());
      } else {
        element = std::move(*node);
      }
      return status_of(error);
    }
  }

  template <class R>
  static channel_result<T> receive_by(R receive) {
    carried got;
    const channel_status status = status_of(receive(&got));
    if (status != channel_status::done) {
      return status;
    }
    if constexpr (kByBytes) {
      return channel_result<T>(std::in_place, std::move(*std::launder(reinterpret_cast<T*>(got.at))));
    } else {
      const std::unique_ptr<T> node(got);
      return channel_result<T>(std::in_place, std::move(*node));
    }
  }

  weft_channel_t channel_ = nullptr;
};

template <std::movable T>
class channel<T>::iterator {
 public:
  using iterator_concept = std::input_iterator_tag;
  using value_type = T;
  using difference_type = std::ptrdiff_t;

  explicit iterator(channel& from) : from_(&from), element_(from.receive()) {}

  // Mutable: the element is the iterator's, and may be moved away.
  T& operator*() const noexcept { return *element_; }
  T* operator->() const noexcept { return std::addressof(*element_); }
  iterator& operator++() {
    element_ = from_->receive();
    return *this;
  }
  void operator++(int) { ++*this; }
  friend bool operator==(const iterator& i, std::default_sentinel_t) noexcept {
    return !i.element_.has_value();
  }

 private:
  channel* from_;
  mutable channel_result<T> element_;
};

}  // namespace weft
