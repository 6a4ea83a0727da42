// task_group.hpp: any number of tasks, and one wait for all of them.
//
// Each task is a ULT that wait() joins, newest first, so one that has not started yet is called on
// the waiter's stack.
// Rejected: detached ULTs, a counter and an event (each task is then run by a scheduler, at several
// times the price of a claim by its joiner).
#pragma once

#include <atomic>
#include <exception>
#include <functional>
#include <memory>
#include <type_traits>
#include <utility>

#include "weft/runtime.hpp"
#include "weft/thread.hpp"
#include "weft/weft.h"

namespace weft {

class task_group {
 public:
  task_group() noexcept = default;
  task_group(const task_group&) = delete;
  task_group& operator=(const task_group&) = delete;

  // Waits. An exception that no wait() has rethrown ends the program, unless the group dies because
  // of another exception: then it is dropped.
  ~task_group() {
    try {
      join_all();
    } catch (...) {
      std::terminate();
    }
    if (error_ && std::uncaught_exceptions() == uncaught_) {
      std::terminate();
    }
  }

  // Starts f() as a ULT. May be called by several threads at once, and by the group's own tasks.
  // What a task leaves behind, some hundred bytes, is kept until wait().
  // Context: any. Does not block. Throws weft::error as weft_ult_create(), std::bad_alloc.
  template <class F>
    requires(std::is_invocable_v<std::decay_t<F>&>)
  void run(F&& f) {
    auto owner = std::make_unique<call<std::decay_t<F>>>(*this, std::forward<F>(f));
    task* t = owner.get();
    detail::check(weft_ult_create(&task::run, t, nullptr, &t->unit));
    push(owner.release());
  }

  // Waits for all tasks, also for those that tasks have added; then rethrows the exception that
  // left a task first. The group can be used again. One wait() at a time, and not by its own tasks.
  // Context: ULT, KLT. Suspends. Throws weft::error: SELF (from a task of the group), CONTEXT (from
  // a tasklet); the tasks are then still the group's. Also FORKED (a forked child, and tasks stayed behind):
  // after all the others have ended; the group is empty then.
  void wait() {
    join_all();
    if (error_) [[unlikely]] {
      failed_.store(false, std::memory_order_relaxed);
      std::rethrow_exception(std::exchange(error_, nullptr));
    }
  }

 private:
  struct task {
    explicit task(task_group& g) : group(g) {}
    task(const task&) = delete;
    task& operator=(const task&) = delete;
    virtual ~task() = default;
    virtual void invoke() = 0;

    static void run(void* arg) noexcept {
      auto* self = static_cast<task*>(arg);
      try {
        self->invoke();
      } catch (const detail::unit_exit&) {  // this_thread::exit(): a normal end
      } catch (...) {
        self->group.failed();
      }
      detail::thread_exits();
    }

    task_group& group;
    task* next = nullptr;
    weft_unit_t unit = nullptr;
  };

  template <class F>
  struct call final : task {
    template <class G>
    call(task_group& g, G&& f) : task(g), callable(std::forward<G>(f)) {}
    void invoke() override { std::invoke(callable); }
    F callable;
  };

  // Context: a handler in a task. Only the first exception is kept; the join makes it visible.
  void failed() noexcept {
    if (!failed_.exchange(true, std::memory_order_relaxed)) {
      error_ = std::current_exception();
    }
  }

  // Pairs with the exchange in join_all(): the joiner sees the task's fields. There is no ABA:
  // tasks are only taken all at once.
  void push(task* t) noexcept {
    t->next = tasks_.load(std::memory_order_relaxed);
    while (!tasks_.compare_exchange_weak(t->next, t, std::memory_order_release,
                                          std::memory_order_relaxed)) {
    }
  }

  // A task adds others before it ends; so once all that were seen are joined and the list is empty,
  // all have ended.
  void join_all() {
    int forked = WEFT_OK;
    while (task* t = tasks_.exchange(nullptr, std::memory_order_acquire)) {
      while (t != nullptr) {
        task* next = t->next;
        const int error = weft_free(&t->unit);
        if (error == WEFT_ERR_FORKED) [[unlikely]] {
          forked = error;  // it may be in the middle of its callable: that is left as it is
          t = next;
          continue;
        }
        if (error != WEFT_OK) [[unlikely]] {
          give_back(t);
          detail::raise(error);
        }
        delete t;
        t = next;
      }
    }
    detail::check(forked);
  }

  void give_back(task* t) noexcept {
    while (t != nullptr) {
      task* next = t->next;
      push(t);
      t = next;
    }
  }

  // any thread
  std::atomic<task*> tasks_ = nullptr;
  std::atomic<bool> failed_ = false;
  // the task that has set failed_, then the waiter
  std::exception_ptr error_;
  // constant
  int uncaught_ = std::uncaught_exceptions();
};

}  // namespace weft
