// boost_fiber.hpp: Boost.Fiber as the benchmarks see it: round robin on one thread (with stacks
// from the allocator or from its pool), or its work-stealing algorithm on several, or round robin on
// each of several threads (pinned).
#ifndef WEFT_BENCH_LIBRARY_BOOST_FIBER_HPP
#define WEFT_BENCH_LIBRARY_BOOST_FIBER_HPP

#include <boost/fiber/all.hpp>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "harness.hpp"

namespace bench {

struct BoostFiber {
  static constexpr const char* kVariants[] = {"pooled stacks", "plain stacks"};
  // Variants differ in the stacks' allocator; the one that pools is for one thread.
  static bool applies(Mode, int variant) { return cpus.size() == 1 || variant == 1; }
  static constexpr bool kStartsOnce = true;  // work stealing keeps its schedulers in a static list
  using Handle = boost::fibers::fiber;
  using Mutex = boost::fibers::mutex;
  using Cond = boost::fibers::condition_variable_any;
  using Barrier = std::optional<boost::fibers::barrier>;

  // A buffered channel of size 2 holds one element.
  class Channel {
   public:
    explicit Channel(size_t capacity) {
      check(capacity <= 1, "capacities other than 0 and 1");
      if (capacity == 1) {
        buffered_.emplace(2);
      } else {
        unbuffered_.emplace();
      }
    }
    void send(uint64_t value) { buffered_ ? buffered_->push(value) : unbuffered_->push(value); }
    uint64_t receive() {
      uint64_t value = 0;
      buffered_ ? buffered_->pop(value) : unbuffered_->pop(value);
      return value;
    }

   private:
    std::optional<boost::fibers::buffered_channel<uint64_t>> buffered_;
    std::optional<boost::fibers::unbuffered_channel<uint64_t>> unbuffered_;
  };

  void init(int workers, Mode mode, int variant) {
    pooled_ = variant == 0 && workers == 1;  // the pool is for one thread
    if (mode == Mode::kForkJoin) {
      for (int i = 1; i < workers; ++i) {
        threads_.emplace_back([this, workers] { work(workers); });
      }
      steal(workers);
    }
    if (mode == Mode::kPinned) {
      bind_to_cpu_of(0);
      for (int i = 1; i < workers; ++i) {
        orders_.push_back(std::make_unique<Orders>(2));
        threads_.emplace_back([this, i] { obey(i); });
      }
    }
  }

  void finalize() {
    for (auto& orders : orders_) {
      orders->close();
    }
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
  // On that thread: a fiber starts where it is made.
  template <void (*F)(void*)>
  void create_on(int worker, Handle& handle, void* arg) {
    if (worker == 0) {
      create<F>(handle, arg);
      return;
    }
    boost::fibers::promise<void> made;
    orders_.at(static_cast<size_t>(worker - 1))->push([this, &handle, &made, arg] {
      create<F>(handle, arg);
      made.set_value();
    });
    made.get_future().wait();
  }
  void join(Handle& handle) { handle.join(); }
  static void yield() { boost::this_fiber::yield(); }

  static void create_mutex(Mutex&) {}
  static void lock(Mutex& mutex) { mutex.lock(); }
  static void unlock(Mutex& mutex) { mutex.unlock(); }

  static void create_cond(Cond&) {}
  static void wait(Cond& cond, Mutex& mutex) { cond.wait(mutex); }
  static void signal(Cond& cond) { cond.notify_one(); }

  static void create_barrier(Barrier& barrier, int ults) {
    barrier.emplace(static_cast<size_t>(ults));
  }
  static void pass(Barrier& barrier) { barrier->wait(); }

  static void sleep_until(uint64_t deadline_ns) {
    const std::chrono::nanoseconds since_boot(deadline_ns);
    boost::this_fiber::sleep_until(std::chrono::steady_clock::time_point(since_boot));
  }

  void idle(double seconds) {
    boost::this_fiber::sleep_for(std::chrono::microseconds(static_cast<long>(seconds * 1e6)));
  }

 private:
  using Orders = boost::fibers::buffered_channel<std::function<void()>>;

  void obey(int worker) {
    bind_to_cpu_of(worker);
    std::function<void()> order;
    while (orders_.at(static_cast<size_t>(worker - 1))->pop(order) ==
           boost::fibers::channel_op_status::success) {
      order();
    }
  }
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
  std::vector<std::unique_ptr<Orders>> orders_;
  std::vector<std::thread> threads_;
  boost::fibers::mutex mutex_;
  boost::fibers::condition_variable stopped_;
  bool stop_ = false;
};

}  // namespace bench

#endif  // WEFT_BENCH_LIBRARY_BOOST_FIBER_HPP
