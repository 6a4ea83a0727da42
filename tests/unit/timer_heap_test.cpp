// The heap of deadlines from inside: against a multimap, with a million entries, and where the kernel gives no
// memory for them.
#include "time/timer_heap.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <memory>
#include <random>
#include <vector>

#include "support/no_more.hpp"

namespace weft::rt {
namespace {

using weft_test::NoMore;

using Random = std::mt19937_64;

struct Heap : TimerHeap {
  ~Heap() { release(); }
};

std::vector<Timer*> pop(TimerHeap& heap, uint64_t now, unsigned most) {
  std::vector<Timer*> popped;
  heap.pop_due(now, most, [&](Timer* timer) { popped.push_back(timer); });
  return popped;
}

// What a heap does, done by the standard library.
class Model {
 public:
  void insert(Timer* timer) { timers_.emplace(timer->deadline, timer); }
  bool remove(Timer* timer) {
    auto [it, end] = timers_.equal_range(timer->deadline);
    while (it != end && it->second != timer) ++it;
    if (it == end) return false;
    timers_.erase(it);
    return true;
  }
  uint64_t earliest() const { return timers_.empty() ? kNever : timers_.begin()->first; }
  uint64_t second() const { return timers_.size() < 2 ? kNever : std::next(timers_.begin())->first; }
  size_t size() const { return timers_.size(); }

 private:
  std::multimap<uint64_t, Timer*> timers_;
};

class Both {
 public:
  explicit Both(size_t n) : timers_(n) {}

  void insert(size_t i, uint64_t deadline) {
    Timer* timer = &timers_[i];
    ASSERT_EQ(timer->place, Timer::kNowhere);
    timer->deadline = deadline;
    const bool first = deadline < model_.earliest();
    EXPECT_EQ(heap_.insert(timer), first);
    model_.insert(timer);
  }
  void remove(size_t i) { EXPECT_EQ(heap_.remove(&timers_[i]), model_.remove(&timers_[i])); }
  void pop_due(uint64_t now, unsigned most) {
    for (Timer* timer : pop(heap_, now, most)) {
      ASSERT_EQ(timer->deadline, model_.earliest());
      ASSERT_LE(timer->deadline, now);
      ASSERT_TRUE(model_.remove(timer));
      --most;
    }
    EXPECT_TRUE(most == 0 || model_.earliest() > now);
  }
  void check() {
    ASSERT_EQ(heap_.earliest(), model_.earliest());
    ASSERT_EQ(heap_.second(), model_.second());
  }
  bool armed(size_t i) const { return timers_[i].place != Timer::kNowhere; }
  uint64_t earliest() const { return model_.earliest(); }
  size_t size() const { return model_.size(); }

 private:
  std::vector<Timer> timers_;
  Heap heap_;
  Model model_;
};

TEST(TimerHeap, AnEmptyOneHasNoDeadline) {
  Heap heap;
  Timer timer;
  EXPECT_EQ(heap.earliest(), kNever);
  EXPECT_EQ(heap.second(), kNever);
  EXPECT_FALSE(heap.remove(&timer));
  EXPECT_TRUE(pop(heap, kNever, 10).empty());
}

// From a few deadlines, of which many are equal, to many; mostly armed, then mostly disarmed.
TEST(TimerHeap, DoesWhatAMultimapDoes) {
  for (const auto& [timers, deadlines, steps] :
       {std::tuple{10u, 8u, 20'000}, {100u, 1000u, 40'000}, {20'000u, 1'000'000'000u, 200'000}}) {
    Random random(timers);
    Both both(timers);
    for (int step = 0; step < steps; ++step) {
      const size_t i = random() % timers;
      if (both.armed(i)) {
        both.remove(i);
      } else {
        both.insert(i, random() % deadlines);
      }
      if (random() % 64 == 0 && both.size() > 0) {
        both.pop_due(both.earliest() + random() % (deadlines / 4), random() % 20);
      }
      if (timers < 1000 || step % 64 == 0) both.check();
      if (testing::Test::HasFatalFailure()) return;
    }
    both.pop_due(kNever - 1, timers);
    EXPECT_EQ(both.size(), 0u);
  }
}

size_t resident_bytes() {
  std::ifstream statm("/proc/self/statm");
  size_t size = 0;
  size_t resident = 0;
  statm >> size >> resident;
  return resident * 4096;
}

constexpr size_t kMillion = 1'000'000;

TEST(TimerHeap, AMillionComeInOrderAndTheirMemoryIsGivenBack) {
  std::vector<Timer> timers(kMillion);
  Heap heap;
  Random random(1);
  const size_t before = resident_bytes();
  for (Timer& timer : timers) {
    timer.deadline = random() >> 1;
    heap.insert(&timer);
  }
  const size_t full = resident_bytes();
  EXPECT_GE(full, before + kMillion * 15);
  for (size_t i = 0; i < kMillion; i += 2) EXPECT_TRUE(heap.remove(&timers[i]));
  uint64_t last = 0;
  size_t popped = 0;
  while (heap.earliest() != kNever) {
    heap.pop_due(kNever - 1, 64, [&](Timer* timer) {
      EXPECT_LE(last, timer->deadline);
      last = timer->deadline;
      ++popped;
    });
  }
  EXPECT_EQ(popped, kMillion / 2);
#if !defined(__SANITIZE_THREAD__)  // it keeps memory for each piece of ours
  EXPECT_LE(resident_bytes(), full - kMillion * 14);
#endif
}

TEST(TimerHeap, CanBeUsedAgainAfterAFork) {
  std::vector<Timer> timers(10'000);
  Heap heap;
  for (Timer& timer : timers) {
    timer.deadline = 1;
    heap.insert(&timer);
  }
  heap.forget_all();
  EXPECT_EQ(heap.earliest(), kNever);
  Timer timer;
  timer.deadline = 2;
  EXPECT_TRUE(heap.insert(&timer));
  EXPECT_EQ(pop(heap, 2, 10), std::vector{&timer});
}

// The first quarter has memory; of the others, most find no room.
constexpr size_t kAll = 200'000;
size_t fill_without_memory(TimerHeap& heap, std::vector<Timer>& timers) {
  Random random(7);
  size_t in_list = 0;
  for (size_t i = 0; i < timers.size() / 4; ++i) heap.insert(&timers[i]);
  const NoMore none(RLIMIT_AS);
  for (size_t i = timers.size() / 4; i < timers.size(); ++i) {
    timers[i].deadline = random() % 1000;
    heap.insert(&timers[i]);
    in_list += timers[i].place == Timer::kInList;
  }
  return in_list;
}

TEST(TimerHeap, WithoutMemoryNoDeadlineIsLost) {
  std::vector<Timer> timers(kAll);
  for (Timer& timer : timers) timer.deadline = 500;
  Heap heap;
  EXPECT_GT(fill_without_memory(heap, timers), 1000u);
  EXPECT_EQ(heap.earliest(), 0u);
  EXPECT_LE(heap.second(), 500u);
  size_t removed = 0;
  for (size_t i = 0; i < kAll; i += 3) removed += heap.remove(&timers[i]);
  EXPECT_EQ(removed, (kAll + 2) / 3);
  size_t due = 0;
  for (size_t i = 0; i < kAll; ++i) due += i % 3 != 0 && timers[i].deadline <= 500;
  size_t popped = 0;
  while (heap.earliest() <= 500) {
    heap.pop_due(500, 64, [&](Timer* timer) {
      EXPECT_LE(timer->deadline, 500u);
      ++popped;
    });
  }
  EXPECT_EQ(popped, due);
  for (; heap.earliest() != kNever; popped += pop(heap, 1000, 64).size()) {
  }
  EXPECT_EQ(popped + removed, kAll);
  for (const Timer& timer : timers) ASSERT_EQ(timer.place, Timer::kNowhere);
}

TEST(TimerHeap, WithoutAnyMemoryAtAll) {
  std::vector<Timer> timers(100);
  Heap heap;
  for (size_t i = 0; i < timers.size(); ++i) timers[i].deadline = 1000 - i;
  {
    const NoMore none(RLIMIT_AS);
    for (Timer& timer : timers) heap.insert(&timer);
  }
  EXPECT_EQ(heap.earliest(), 901u);
  EXPECT_TRUE(heap.remove(&timers[99]));
  EXPECT_EQ(pop(heap, 902, 10), std::vector{&timers[98]});
  Timer late;
  late.deadline = 902;
  EXPECT_TRUE(heap.insert(&late));  // there is memory again
  EXPECT_EQ(late.place, 0u);
  EXPECT_EQ(pop(heap, 1000, 1000).size(), 99u);
}

}  // namespace
}  // namespace weft::rt
