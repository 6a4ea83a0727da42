// weft.hpp: Weft for C++20 programs, thin over weft.h.
//
//   weft::runtime rt;                                   // start; ends with the scope
//   weft::thread t([](int n) { work(n); }, 3);          // a ULT with std::thread's interface
//   t.join();                                           // an exception of the callable arrives here
//   auto [a, b] = weft::fork_join(f, g);                // both run, maybe at the same time
//   weft::parallel_for(0, n, [&](int i) { v[i] *= 2; });
//   weft::channel<int> numbers(100);                    // between any number of threads
//
// A program written for <thread>, <stop_token>, <mutex>, <shared_mutex>, <condition_variable>,
// <semaphore>, <latch>, <barrier> and <future> needs a weft::runtime in main() and weft:: for std::
// before the names of those headers; what those share with std is here by its own name
// (weft::unique_lock is std::unique_lock). What differs: join() rethrows what left the callable, and a
// stop_token is not std's.
//
// Words and contexts are those of weft.h. Errors are thrown as weft::error, whose code() has the
// values of weft_error_t.
#pragma once

#include "weft/async.hpp"
#include "weft/barrier.hpp"
#include "weft/blocking.hpp"
#include "weft/channel.hpp"
#include "weft/condition_variable.hpp"
#include "weft/fork_join.hpp"
#include "weft/future.hpp"
#include "weft/invoke.hpp"
#include "weft/jthread.hpp"
#include "weft/once.hpp"
#include "weft/packaged_task.hpp"
#include "weft/parallel.hpp"
#include "weft/promise.hpp"
#include "weft/runtime.hpp"
#include "weft/semaphore.hpp"
#include "weft/shared_mutex.hpp"
#include "weft/stop_token.hpp"
#include "weft/sync.hpp"
#include "weft/task_group.hpp"
#include "weft/thread.hpp"
#include "weft/time.hpp"
