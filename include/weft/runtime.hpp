// runtime.hpp: starting and ending the runtime, and how errors are thrown.
#pragma once

#include <string>
#include <system_error>

#include "weft/weft.h"

namespace weft {

// The category of Weft's error codes: messages are those of weft_strerror(), and codes with a
// meaning in <system_error> compare equal to it (WEFT_ERR_SELF to resource_deadlock_would_occur).
class error_category_type final : public std::error_category {
 public:
  const char* name() const noexcept override { return "weft"; }
  std::string message(int code) const override { return weft_strerror(code); }
  std::error_condition default_error_condition(int code) const noexcept override {
    switch (code) {
      case WEFT_ERR_INVALID:
      case WEFT_ERR_JOINED:
      case WEFT_ERR_STACK_TOO_SMALL: return std::errc::invalid_argument;
      case WEFT_ERR_CONTEXT:
      case WEFT_ERR_NOT_OWNER: return std::errc::operation_not_permitted;
      case WEFT_ERR_SELF: return std::errc::resource_deadlock_would_occur;
      case WEFT_ERR_NO_MEMORY: return std::errc::not_enough_memory;
      case WEFT_ERR_NO_KLT:
      case WEFT_ERR_LIMIT: return std::errc::resource_unavailable_try_again;
      case WEFT_ERR_BUSY: return std::errc::device_or_resource_busy;
      case WEFT_ERR_UNSUPPORTED: return std::errc::not_supported;
      case WEFT_ERR_TIMEOUT: return std::errc::timed_out;
      case WEFT_ERR_FORKED: return std::errc::no_such_process;
      default: return std::error_condition(code, *this);
    }
  }
};

WEFT_API inline const std::error_category& error_category() noexcept {
  static const error_category_type category;
  return category;
}

// Thrown where a C function would return an error code.
class WEFT_API error : public std::system_error {
 public:
  explicit error(int code) : std::system_error(code, error_category()) {}
};

namespace detail {

[[noreturn, gnu::cold, gnu::noinline]] inline void raise(int code) { throw error(code); }

inline void check(int code) {
  if (code != WEFT_OK) [[unlikely]] {
    raise(code);
  }
}

// For operations that may be refused: false where the error is `refusal`; others are thrown.
inline bool check_unless(int code, int refusal) {
  if (code == refusal) {
    return false;
  }
  check(code);
  return true;
}

}  // namespace detail

// Zero: as the environment (WEFT_...) says, else the default. Fields as in weft_options_t.
struct options {
  unsigned workers = 0;
  std::size_t stack_size = 0;
  int bind = 0;
  unsigned idle_spin_us = 0;
};

// The runtime runs while one of these lives (they nest). The thread that makes the first becomes
// the primary ULT.
class runtime {
 public:
  // Context: KLT (where one lives already: any). Throws weft::error as weft_initialize().
  explicit runtime(const options& o = {}) {
    const weft_options_t native{o.workers, o.stack_size, o.bind, o.idle_spin_us};
    detail::check(weft_initialize(&native));
  }
  runtime(const runtime&) = delete;
  runtime& operator=(const runtime&) = delete;

  // Context: the primary ULT. Where units are still alive the runtime goes on; Weft has then
  // listed them on stderr.
  ~runtime() {
    if (running_) {
      weft_finalize();
    }
  }

  // What the destructor does, with its error thrown (CONTEXT, STATE); after success the destructor
  // has nothing left to do.
  void finalize() {
    if (!running_) {
      detail::raise(WEFT_ERR_UNINITIALIZED);
    }
    detail::check(weft_finalize());
    running_ = false;
  }

  // Number of workers. Context: any.
  static unsigned workers() noexcept { return weft_worker_count(); }
  // How many of them are to run; the others are suspended, and those that are active take over what they had to do.
  // Throws weft::error as weft_workers_set_active(). Context: any.
  static void set_active_workers(unsigned n) { detail::check(weft_workers_set_active(n)); }
  static unsigned active_workers() noexcept { return weft_workers_active(); }

 private:
  bool running_ = true;
};

}  // namespace weft
