// boost_fiber.hpp: Boost.Fiber as the benchmarks see it: round robin on one thread (with stacks
// from the allocator or from its pool), or its work-stealing algorithm on several.
#ifndef WEFT_BENCH_LIBRARY_BOOST_FIBER_HPP
#define WEFT_BENCH_LIBRARY_BOOST_FIBER_HPP

#include <boost/fiber/all.hpp>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "harness.hpp"

namespace bench {

struct BoostFiber {
  static constexpr const char* kVariants[] = {"pooled stacks", "plain stacks"};
  static constexpr bool kStartsOnce = true;  // work stealing keeps its schedulers in a static list
  using Handle = boost::fibers::fiber;
  using Mutex = boost::fibers::mutex;

  void init(int workers, Mode mode, int variant) {
    pooled_ = variant == 0 && workers == 1;  // the pool is for one thread
    if (mode == Mode::kForkJoin) {
      for (int i = 1; i < workers; ++i) {
        threads_.emplace_back([this, workers] { work(workers); });
      }
      steal(workers);
    }
  }

  void finalize() {
    {
      const std::lock_guard<boost::fibers::mutex> hold(mutex_);
      stop_ = true;
    }
    stopped_.notify_all();
    for (std::thread& thread : threads_) {
      thread.join();
    }
    threads_.clear();
  }

  template <void (*F)(void*)>
  void create(Handle& handle, void* arg) {
    using boost::fibers::launch;
    const auto run = [arg] { F(arg); };
    if (pooled_) {
      handle = Handle(launch::post, std::allocator_arg, pool_, run);
    } else {
      handle = Handle(launch::post, run);
    }
  }
  void join(Handle& handle) { handle.join(); }
  static void yield() { boost::this_fiber::yield(); }

  static void create_mutex(Mutex&) {}
  static void lock(Mutex& mutex) { mutex.lock(); }
  static void unlock(Mutex& mutex) { mutex.unlock(); }

  void idle(double seconds) {
    boost::this_fiber::sleep_for(std::chrono::microseconds(static_cast<long>(seconds * 1e6)));
  }

 private:
  static void steal(int workers) {
    boost::fibers::use_scheduling_algorithm<boost::fibers::algo::work_stealing>(
        static_cast<unsigned>(workers), true);
  }
  void work(int workers) {
    steal(workers);
    std::unique_lock<boost::fibers::mutex> hold(mutex_);
    stopped_.wait(hold, [this] { return stop_; });
  }

  bool pooled_ = true;
  boost::fibers::pooled_fixedsize_stack pool_;
  std::vector<std::thread> threads_;
  boost::fibers::mutex mutex_;
  boost::fibers::condition_variable stopped_;
  bool stop_ = false;
};

}  // namespace bench

#endif  // WEFT_BENCH_LIBRARY_BOOST_FIBER_HPP
