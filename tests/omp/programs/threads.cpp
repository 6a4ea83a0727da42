// threads.cpp: exceptions, objects of each thread, std::thread and the standard library's locks beside OpenMP's threads.
#include <omp.h>

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <numeric>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "check.h"

namespace {

int thrower(int i) {
  if (i % 2 != 0) throw std::runtime_error(std::to_string(i));
  return std::vector<int>(10).at(static_cast<size_t>(i % 4 == 0 ? 100 : 1));
}

// A copy of it, as a task's own, makes tasks while that task is being made.
struct Busy {
  int value = 0;
  explicit Busy(int v) : value(v) {}
  Busy(const Busy& from) : value(from.value) {
    int one = 0, two = 0;
#pragma omp task shared(one)
    one = value;
#pragma omp task shared(two) untied
    {
#pragma omp task shared(two)
      two = value;
#pragma omp taskwait
    }
#pragma omp taskwait
    CHECK(one == value && two == value);
  }
};

void tasks_within_the_making() {
  for (int threads : {1, 2, 5}) {
    std::atomic<int> sum = 0;
#pragma omp parallel num_threads(threads)
#pragma omp single
    for (int i = 0; i < 200; ++i) {
      const Busy busy(i);
#pragma omp task firstprivate(busy) shared(sum)
      {
        const Busy inner(busy);
#pragma omp task firstprivate(inner) shared(sum)
        sum += inner.value;
      }
    }
    CHECK(sum == 199 * 100);
  }
}

// Thrown and caught inside of a region, a task, a loop; others run while it is handled.
void exceptions() {
  int caught = 0, returned = 0;
#pragma omp parallel num_threads(6) reduction(+ : caught, returned)
  for (int i = 0; i < 100; ++i) {
    try {
      returned += thrower(i) == 0;
    } catch (const std::runtime_error& error) {
#pragma omp taskyield
      caught += error.what() == std::to_string(i);
    } catch (const std::out_of_range&) {
#pragma omp task
      try {
        throw 7;
      } catch (int seven) {
        CHECK(seven == 7);
      }
#pragma omp taskwait
      CHECK(std::current_exception() != nullptr);
      caught += 1000;
    }
  }
  CHECK(caught == 6 * 50 + 6 * 25 * 1000 && returned == 6 * 25);
  // Out of a function that has opened regions, to one that has not.
  try {
    int sum = 0;
#pragma omp parallel for reduction(+ : sum)
    for (int i = 0; i < 10; ++i) sum += i;
    if (sum == 45) throw std::logic_error("after it");
    CHECK(false);
  } catch (const std::logic_error&) {
    int n = 0;
#pragma omp parallel num_threads(3) reduction(+ : n)
    n++;
    CHECK(n == 3);
  }
}

std::atomic<int> alive{0};

struct Object {
  int value = 11;
  Object() { alive++; }
  Object(const Object& other) : value(other.value) { alive++; }
  Object& operator=(const Object&) = default;
  ~Object() { alive--; }
};
extern Object kept;
#pragma omp threadprivate(kept)
Object kept;
thread_local std::string name = "none";

void objects() {
  for (int round = 0; round < 3; ++round) {
#pragma omp parallel num_threads(4)
    {
      CHECK(kept.value == 11 + round * (1 + omp_get_thread_num()));
      CHECK(name == (round == 0 ? "none" : std::to_string(omp_get_thread_num())));
      name = std::to_string(omp_get_thread_num());
      kept.value += 1 + omp_get_thread_num();
    }
  }
  kept.value = 5;
#pragma omp parallel num_threads(4) copyin(kept)
  CHECK(kept.value == 5);
  CHECK(alive == 4);
  const int before = alive;
  Object last;
#pragma omp parallel for num_threads(4) firstprivate(last) lastprivate(last)
  for (int i = 0; i < 100; ++i) last.value = i;
  CHECK(last.value == 99 && alive == before + 1);
#pragma omp parallel num_threads(4)
#pragma omp single
  for (int i = 0; i < 20; ++i) {
#pragma omp task firstprivate(last)
    last.value += i;
  }
  CHECK(alive == before + 1);
}

// Threads of the program's own open regions at the same time, each with threads and threadprivate objects of its own.
void own_threads() {
  for (int round = 0; round < 3; ++round) {
    std::vector<std::thread> threads;
    for (int k = 0; k < 4; ++k) {
      threads.emplace_back([k] {
        CHECK(omp_get_level() == 0 && omp_get_thread_num() == 0);
        std::set<int> met;
        for (int again = 0; again < 10; ++again) {
          long sum = 0;
#pragma omp parallel num_threads(k + 1) reduction(+ : sum)
          {
#pragma omp critical
            met.insert(omp_get_thread_num());
#pragma omp for schedule(guided)
            for (int i = 0; i < 1000; ++i) sum += i;
#pragma omp single
            for (int i = 0; i < 10; ++i) {
#pragma omp task shared(sum)
              std::this_thread::yield();
            }
          }
          CHECK(sum == 499500);
        }
        CHECK(static_cast<int>(met.size()) == k + 1);
      });
    }
    long sum = 0;
#pragma omp parallel for num_threads(3) reduction(+ : sum)
    for (int i = 0; i < 1000; ++i) sum += i;
    CHECK(sum == 499500);
    for (std::thread& thread : threads) thread.join();
  }
  // One that is made inside of a region.
  std::atomic<int> n{0};
#pragma omp parallel num_threads(3)
  {
    std::thread inner([&n] {
#pragma omp parallel num_threads(2)
      n++;
    });
    inner.join();
  }
  CHECK(n == 6);
}

// More threads than cores, that wait for each other by what OpenMP knows nothing of.
void standard_locks() {
  constexpr int kThreads = 12;
  std::mutex mutex;
  std::condition_variable all_here;
  int come = 0;
  long count = 0;
#pragma omp parallel num_threads(kThreads)
  {
    {
      std::unique_lock hold(mutex);
      if (++come == kThreads) all_here.notify_all();
      all_here.wait(hold, [&] { return come == kThreads; });
    }
    for (int i = 0; i < 100; ++i) {
      const std::scoped_lock hold(mutex);
      ++count;
    }
  }
  CHECK(count == 100 * kThreads);
  std::atomic<int> here{0};
#pragma omp parallel num_threads(kThreads)
  {
    here++;
    while (here != kThreads) {  // spins
    }
  }
  CHECK(here == kThreads);
}

}  // namespace

int main() {
  omp_set_max_active_levels(3);
  exceptions();
  tasks_within_the_making();
  objects();
  own_threads();
  standard_locks();
  return check_end();
}
