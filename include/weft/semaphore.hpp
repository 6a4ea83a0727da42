// semaphore.hpp: counting_semaphore and binary_semaphore. Nobody passes those who wait.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>

#include "weft/runtime.hpp"
#include "weft/time.hpp"
#include "weft/weft.h"

namespace weft {
namespace detail {

inline constexpr std::ptrdiff_t kMostSemaphore = 0x7fffffff;

}  // namespace detail

template <std::ptrdiff_t kLeastMax = detail::kMostSemaphore>
class counting_semaphore {
 public:
  static_assert(kLeastMax >= 0 && kLeastMax <= detail::kMostSemaphore);
  using native_handle_type = weft_sem_t*;

  // Throws INVALID (negative, or more than max()).
  constexpr explicit counting_semaphore(std::ptrdiff_t desired)
      : sem_ WEFT_SEM_INIT(count_of(desired, kLeastMax)) {}
  counting_semaphore(const counting_semaphore&) = delete;
  counting_semaphore& operator=(const counting_semaphore&) = delete;
  ~counting_semaphore() = default;

  static constexpr std::ptrdiff_t max() noexcept { return kLeastMax; }

  // Context: any; does not block. Throws INVALID (n is negative), LIMIT (more than 2^31 - 1 in all; that
  // it stays below a smaller max() is the program's affair, as with std's).
  void release(std::ptrdiff_t n = 1) {
    detail::check(weft_sem_release(&sem_, count_of(n, detail::kMostSemaphore)));
  }
  // Context: any; suspends. Throws CONTEXT (it would have to wait in a tasklet).
  void acquire() { detail::check(weft_sem_acquire(&sem_)); }
  // Context: any; does not block.
  bool try_acquire() noexcept { return weft_sem_tryacquire(&sem_) == WEFT_OK; }
  // False: it could not be had in that time. Context and what they throw: as acquire().
  template <class Rep, class Period>
  bool try_acquire_for(const std::chrono::duration<Rep, Period>& d) {
    return detail::check_unless(weft_sem_acquire_until(&sem_, detail::deadline_after(d)),
                                WEFT_ERR_TIMEOUT);
  }
  template <class Clock, class Duration>
  bool try_acquire_until(const std::chrono::time_point<Clock, Duration>& t) {
    const auto acquire_until = [this](std::uint64_t deadline) {
      return weft_sem_acquire_until(&sem_, deadline);
    };
    return detail::check_unless(detail::wait_until(t, acquire_until), WEFT_ERR_TIMEOUT);
  }

  native_handle_type native_handle() noexcept { return &sem_; }

 private:
  static constexpr std::uint32_t count_of(std::ptrdiff_t n, std::ptrdiff_t most) {
    if (n < 0 || n > most) {
      detail::raise(WEFT_ERR_INVALID);
    }
    return static_cast<std::uint32_t>(n);
  }

  weft_sem_t sem_;
};

using binary_semaphore = counting_semaphore<1>;

}  // namespace weft
