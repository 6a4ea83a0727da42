// tbb.hpp: oneTBB as the benchmarks see it: a task_arena, of which the caller is one thread.
#ifndef WEFT_BENCH_LIBRARY_TBB_HPP
#define WEFT_BENCH_LIBRARY_TBB_HPP

#include <tbb/global_control.h>
#include <tbb/parallel_for.h>
#include <tbb/task_arena.h>
#include <tbb/task_group.h>

#include <optional>

#include "harness.hpp"

namespace bench {

struct Tbb {
  static constexpr const char* kVariants[] = {"task_group"};

  void init(int workers, Mode, int) {
    using control = tbb::global_control;
    threads_.emplace(control::max_allowed_parallelism, static_cast<size_t>(workers));
    if (thread_stack() != 0) {
      stack_.emplace(control::thread_stack_size, thread_stack());
    }
    arena_.emplace(workers);
    arena_->execute([&] { tbb::parallel_for(0, 1000 * workers, [](int) { sched_yield(); }); });
  }
  // Waits for the workers to end: without it the next start would find them still there.
  void finalize() {
    tbb::task_scheduler_handle handle{tbb::attach{}};
    arena_.reset();
    stack_.reset();
    threads_.reset();
    tbb::finalize(handle, std::nothrow);
  }

  template <class Function>
  auto run(Function&& function) {
    return arena_->execute(function);
  }
  tbb::task_arena& arena() { return *arena_; }
  void idle(double seconds) { usleep(static_cast<useconds_t>(seconds * 1e6)); }

 private:
  std::optional<tbb::global_control> threads_;
  std::optional<tbb::global_control> stack_;
  std::optional<tbb::task_arena> arena_;
};

}  // namespace bench

#endif  // WEFT_BENCH_LIBRARY_TBB_HPP
