// barrier.hpp: barrier and latch: threads that wait for each other, again and again or once.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <type_traits>
#include <utility>

#include "weft/runtime.hpp"
#include "weft/weft.h"

namespace weft {
namespace detail {

// What a barrier without a completion function calls: nothing.
struct no_completion {
  void operator()() noexcept {}
};

// A std::ptrdiff_t as a count of weft.h. Throws INVALID (negative, too large).
constexpr std::uint32_t count_of(std::ptrdiff_t n) {
  if (n < 0 || static_cast<std::uint64_t>(n) > std::numeric_limits<std::uint32_t>::max()) {
    detail::raise(WEFT_ERR_INVALID);
  }
  return static_cast<std::uint32_t>(n);
}

}  // namespace detail

// Lets all participants pass when the last one arrives, and then begins anew. That one calls the completion
// function first; it must not throw.
template <class CompletionFunction = detail::no_completion>
class barrier {
 public:
  using native_handle_type = weft_barrier_t*;

  // What arrive() gives for wait().
  class arrival_token {
   public:
    arrival_token(arrival_token&&) noexcept = default;
    arrival_token& operator=(arrival_token&&) noexcept = default;
    ~arrival_token() = default;

   private:
    friend class barrier;
    explicit arrival_token(std::uint32_t phase) noexcept : phase_(phase) {}
    std::uint32_t phase_;
  };

  // Throws INVALID (negative, or more than max()).
  constexpr explicit barrier(std::ptrdiff_t participants, CompletionFunction f = {})
      : complete_(std::move(f)), barrier_(native(detail::count_of(participants), this)) {}
  barrier(const barrier&) = delete;
  barrier& operator=(const barrier&) = delete;
  ~barrier() = default;

  static constexpr std::ptrdiff_t max() noexcept {
    return std::numeric_limits<std::uint32_t>::max();
  }

  // Arrives for n participants. Context: any; does not block, but may call the completion function.
  // Throws INVALID (n is 0, or more than are missing).
  [[nodiscard]] arrival_token arrive(std::ptrdiff_t n = 1) {
    std::uint32_t phase = 0;
    detail::check(weft_barrier_arrive(&barrier_, detail::count_of(n), &phase));
    return arrival_token(phase);
  }
  // Until the phase of that arrival is complete. Context: ULT, KLT; suspends.
  void wait(arrival_token&& token) const {
    detail::check(weft_barrier_wait_phase(&barrier_, token.phase_));
  }
  // Both at once. Context: ULT, KLT; suspends.
  void arrive_and_wait() { detail::check(weft_barrier_wait(&barrier_, nullptr)); }
  // The same. True for one of the callers that pass together: the last to arrive.
  bool wait() {
    bool last = false;
    detail::check(weft_barrier_wait(&barrier_, &last));
    return last;
  }
  // Arrives, and takes part no longer. Context: any; does not block.
  void arrive_and_drop() { detail::check(weft_barrier_drop(&barrier_)); }

  native_handle_type native_handle() noexcept { return &barrier_; }

 private:
  static void complete(void* self) noexcept { static_cast<barrier*>(self)->complete_(); }

  static constexpr weft_barrier_t native(std::uint32_t n, barrier* self) noexcept {
    if constexpr (std::is_same_v<CompletionFunction, detail::no_completion>) {
      return WEFT_BARRIER_INIT(n);
    } else {
      return WEFT_BARRIER_INIT_COMPLETE(n, &complete, self);
    }
  }

  [[no_unique_address]] CompletionFunction complete_;
  mutable weft_barrier_t barrier_;
};

// Counts down once; waiters pass when it is at 0.
class latch {
 public:
  using native_handle_type = weft_latch_t*;

  // Throws INVALID (negative, or more than max()).
  constexpr explicit latch(std::ptrdiff_t expected)
      : latch_ WEFT_LATCH_INIT(detail::count_of(expected)) {}
  latch(const latch&) = delete;
  latch& operator=(const latch&) = delete;
  ~latch() = default;

  static constexpr std::ptrdiff_t max() noexcept {
    return std::numeric_limits<std::uint32_t>::max();
  }

  // Context: any; does not block. Throws INVALID (below 0).
  void count_down(std::ptrdiff_t n = 1) {
    detail::check(weft_latch_count_down(&latch_, detail::count_of(n)));
  }
  // Whether it is at 0. Context: any; does not block.
  bool try_wait() const noexcept { return weft_latch_is_down(&latch_); }
  // Context: ULT, KLT; suspends.
  void wait() const { detail::check(weft_latch_wait(&latch_)); }
  void arrive_and_wait(std::ptrdiff_t n = 1) {
    count_down(n);
    wait();
  }

  native_handle_type native_handle() noexcept { return &latch_; }

 private:
  mutable weft_latch_t latch_;
};

}  // namespace weft
