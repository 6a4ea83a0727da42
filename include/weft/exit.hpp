// exit.hpp: how a thread ends early, and what others have left with it for its end.
//
// What happens "at thread exit" (promise::set_value_at_thread_exit() and its like) happens when the
// callable of a weft::thread, jthread, async(), invoke() or task_group has ended and its arguments are
// still there; on a kernel thread when that ends; in a unit made with weft.h when it is freed or, detached,
// when it ends (it is a unit-local value, and those are destroyed then).
#pragma once

#include <memory>
#include <new>
#include <utility>

#include "weft/runtime.hpp"
#include "weft/weft.h"

namespace weft::detail {

// Thrown by this_thread::exit(); caught where the callable was called. No std::exception, so that
// user code that catches those lets it pass.
struct WEFT_API unit_exit{};

class exit_action {
 public:
  exit_action() = default;
  exit_action(const exit_action&) = delete;
  exit_action& operator=(const exit_action&) = delete;
  virtual ~exit_action() = default;
  virtual void run() noexcept = 0;

  std::unique_ptr<exit_action> next;
};

template <class F>
class exit_call final : public exit_action {
 public:
  explicit exit_call(F f) : call(std::move(f)) {}
  void run() noexcept override { call(); }

  F call;
};

// Runs a list in its order. The destructor of the key's values.
inline void run_exit_actions(void* first) noexcept {
  std::unique_ptr<exit_action> action(static_cast<exit_action*>(first));
  while (action != nullptr) {
    action->run();
    action = std::move(action->next);
  }
}

// Made by the first that leaves something, so that others need not ask at their end.
struct exit_key {
  exit_key() { check(weft_key_create(&run_exit_actions, &key)); }
  weft_key_t key = nullptr;
};
inline bool exit_key_made = false;  // written once, by __atomic builtins

inline weft_key_t the_exit_key() {
  static const exit_key made;
  // Relaxed: who left something at his own exit has stored it himself.
  __atomic_store_n(&exit_key_made, true, __ATOMIC_RELAXED);
  return made.key;
}

// f() will be called when the calling thread ends, after what was left before. Returns the copy of f that
// will be called. Throws std::bad_alloc, weft::error (LIMIT: no key is left).
template <class F>
F& at_thread_exit(F f) {
  auto made = std::make_unique<exit_call<F>>(std::move(f));
  F& call = made->call;
  const weft_key_t key = the_exit_key();
  auto* last = static_cast<exit_action*>(weft_key_get(key));
  if (last == nullptr) {
    check(weft_key_set(key, made.get()));
    static_cast<void>(made.release());
    return call;
  }
  while (last->next != nullptr) {
    last = last->next.get();
  }
  last->next = std::move(made);
  return call;
}

// Context: the end of a unit whose callable is one of weft.hpp.
inline void thread_exits() noexcept {
  if (__atomic_load_n(&exit_key_made, __ATOMIC_RELAXED)) [[unlikely]] {
    const weft_key_t key = the_exit_key();
    // An action may leave another one.
    while (void* first = weft_key_get(key)) {
      weft_key_set(key, nullptr);
      run_exit_actions(first);
    }
  }
}

}  // namespace weft::detail
