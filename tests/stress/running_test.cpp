// Each way of running a unit, under everything that may happen to it: it yields, is suspended and
// resumed, contends for a mutex, joins children of its own, nested; from every kind of joiner; with
// the worker handed over at random at any lowering of the guard.
//
// What is checked: each unit ran once, to its end; what it had on its stack is still there after each
// suspension (a stack that two units share, or that is given away too early, shows here).
#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <tuple>
#include <vector>

#include "klt/hand_over.hpp"
#include "support/runtime_fixture.hpp"
#include "unit/unit.hpp"
#include "weft/weft.h"
#include "weft/weft.hpp"

namespace {

using weft_test::Call;
using weft_test::ok;
using weft_test::on_klt;
using weft_test::wait_until;

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr int kRounds = 1;
constexpr size_t kMemory = size_t{128} << 10;
#else
constexpr int kRounds = 3;
constexpr size_t kMemory = size_t{64} << 10;
#endif
constexpr size_t kUnits = 64;  // alive at a time

// ---- chance --------------------------------------------------------------------------------------

uint32_t mix(uint32_t x) {
  x ^= x >> 16;
  x *= 0x7feb352du;
  x ^= x >> 15;
  x *= 0x846ca68bu;
  return x ^ (x >> 16);
}

std::atomic<uint32_t> seed{1};
bool one_in_eight() { return mix(seed.fetch_add(0x9e3779b9u, std::memory_order_relaxed)) % 8 == 0; }

// ---- what a unit does ----------------------------------------------------------------------------

// In the units nothing is expected, only counted: gtest's macros want more stack than they have.
std::atomic<uint64_t> wrong{0};
std::atomic<uint64_t> ran{0};
void need(bool good) {
  if (!good) wrong.fetch_add(1, std::memory_order_relaxed);
}

// Values that only this frame knows.
class Canary {
 public:
  explicit Canary(uint32_t key) : key_(key) {
    for (uint32_t i = 0; i < kWords; ++i) words_[i] = mix(key_ + i);
  }
  Canary(const Canary&) = delete;
  Canary& operator=(const Canary&) = delete;
  ~Canary() { check(); }
  void check() const {
    for (uint32_t i = 0; i < kWords; ++i) need(words_[i] == mix(key_ + i));
  }

 private:
  static constexpr uint32_t kWords = 24;
  uint32_t key_;
  volatile uint32_t words_[kWords];
};

weft_mutex_t mutex = WEFT_MUTEX_INIT;
uint64_t guarded = 0;  // under `mutex`
std::atomic<uint64_t> locked{0};

void resume_it(void* unit) { need(weft_resume(static_cast<weft_unit_t>(unit)) == WEFT_OK); }

void suspend_and_be_resumed(uint32_t chance) {
  weft_unit_t helper = nullptr;
  const bool tasklet = (chance & 1) != 0;
  need((tasklet ? weft_tasklet_create : weft_ult_create)(resume_it, weft_self(), nullptr, &helper) ==
       WEFT_OK);
  if ((chance & 2) != 0) weft_yield();  // so the resume may come first
  need(weft_suspend() == WEFT_OK);
  need(weft_free(&helper) == WEFT_OK);
}

void contend() {
  need(weft_mutex_lock(&mutex) == WEFT_OK);
  const uint64_t before = guarded;
  weft_yield();
  guarded = before + 1;
  need(weft_mutex_unlock(&mutex) == WEFT_OK);
  locked.fetch_add(1, std::memory_order_relaxed);
}

struct Child {
  uint32_t key;
  int depth;
  int yields;
  int value;
};

// A unit that joins one of its own, that joins one of its own: claimed, the one on top of the other.
void nested(void* arg) {
  auto* me = static_cast<Child*>(arg);
  const Canary canary(me->key);
  if (me->yields > 0 && me->depth % 2 == 1) weft_yield();
  if (me->depth > 0) {
    Child child{me->key + 1, me->depth - 1, me->yields, 0};
    weft_unit_t unit = nullptr;
    need(weft_ult_create(nested, &child, nullptr, &unit) == WEFT_OK);
    need(weft_free(&unit) == WEFT_OK);
    need(child.value == me->depth);
  }
  canary.check();
  if (me->yields > 0) weft_yield();
  me->value = me->depth + 1;
}

void join_children(uint32_t chance, int depth) {
  Child child{chance, depth, static_cast<int>(chance & 1), 0};
  weft_unit_t unit = nullptr;
  need(weft_ult_create(nested, &child, nullptr, &unit) == WEFT_OK);
  if ((chance & 2) != 0) weft_yield();
  need(weft_join(unit) == WEFT_OK);
  need(child.value == depth + 1);
  need(weft_free(&unit) == WEFT_OK);
}

void deviate(uint32_t chance) {
  weft_unit_t self = weft_self();
  const uint32_t more = mix(chance);
  if (self == nullptr || !weft_is_ult(self)) {  // a tasklet, or a fork on a foreign thread
    need(weft_suspend() == WEFT_ERR_CONTEXT);
    return;
  }
  switch (chance % 5) {
    case 0: return weft_yield();
    case 1: return suspend_and_be_resumed(more);
    case 2: return contend();
    case 3: return join_children(more, 0);
    default: return join_children(more, 3);
  }
}

struct Job {
  uint32_t key = 0;
  unsigned percent = 0;
  uint32_t runs = 0;
};

void work(void* arg) {
  auto* job = static_cast<Job*>(arg);
  const Canary canary(job->key);
  for (uint32_t i = 0; i < 2; ++i) {
    const uint32_t chance = mix(job->key + i);
    if (chance % 100 < job->percent) deviate(mix(chance));
    canary.check();
  }
  ++job->runs;
  ran.fetch_add(1, std::memory_order_release);  // with it, what the job has done
}

// ---- the ways of running -------------------------------------------------------------------------

enum class Way { kAuto, kJoiner, kSc, kSsL, kSs, kMemory, kSize, kTasklet, kFork };
constexpr Way kWays[] = {Way::kAuto,   Way::kJoiner, Way::kSc,      Way::kSsL, Way::kSs,
                         Way::kMemory, Way::kSize,   Way::kTasklet, Way::kFork};
constexpr const char* kWayNames[] = {"Auto",   "Joiner", "Sc",      "SsL", "Ss",
                                     "Memory", "Size",   "Tasklet", "Fork"};

weft_unit_attr_t attr_of(Way way, void* memory) {
  weft_unit_attr_t attr = WEFT_UNIT_ATTR_INIT;
  if (way == Way::kJoiner) attr.technique = WEFT_TECHNIQUE_JOINER;
  if (way == Way::kSc) attr.technique = WEFT_TECHNIQUE_SC;
  if (way == Way::kSsL) attr.technique = WEFT_TECHNIQUE_SS_L;
  if (way == Way::kSs) attr.technique = WEFT_TECHNIQUE_SS;
  if (way == Way::kMemory) attr.stack_memory = memory;
  if (way == Way::kMemory || way == Way::kSize) attr.stack_size = kMemory;
  return attr;
}

// kUnits units, joined or freed, oldest or newest first.
void run_units(Way way, std::vector<Job>& jobs, uint32_t round) {
  std::unique_ptr<char[]> memory;
  if (way == Way::kMemory) memory = std::make_unique_for_overwrite<char[]>(kUnits * kMemory);
  std::vector<weft_unit_t> units(jobs.size());
  const auto create = way == Way::kTasklet ? weft_tasklet_create : weft_ult_create;
  for (size_t i = 0; i < jobs.size(); ++i) {
    const weft_unit_attr_t attr = attr_of(way, memory ? memory.get() + i * kMemory : nullptr);
    need(create(work, &jobs[i], &attr, &units[i]) == WEFT_OK);
  }
  if (round % 3 == 2) weft_yield();
  for (size_t i = 0; i < units.size(); ++i) {
    weft_unit_t& unit = units[round % 2 == 0 ? i : units.size() - 1 - i];
    if (i % 2 == 0) need(weft_join(unit) == WEFT_OK);
    need(weft_free(&unit) == WEFT_OK);
  }
}

void run_forks(Job* jobs, size_t n) {
  if (n == 1) return work(jobs);
  const Canary canary(static_cast<uint32_t>(n));
  weft::fork_join([=] { run_forks(jobs, n / 2); }, [=] { run_forks(jobs + n / 2, n - n / 2); });
}

void run_batches(Way way, unsigned percent) {
  for (uint32_t round = 0; round < kRounds; ++round) {
    std::vector<Job> jobs(kUnits);
    for (size_t i = 0; i < kUnits; ++i) {
      jobs[i] = {mix(static_cast<uint32_t>(i) * 7919 + round), percent, 0};
    }
    if (way == Way::kFork) {
      run_forks(jobs.data(), kUnits);
    } else {
      run_units(way, jobs, round);
    }
    for (const Job& job : jobs) need(job.runs == 1);
  }
}

// ---- the programs --------------------------------------------------------------------------------

class RunningBase : public testing::Test {
 protected:
  void start(unsigned workers, bool hand_over) {
    wrong = ran = locked = guarded = 0;
    weft_options_t options{};
    options.workers = workers;
    ASSERT_TRUE(ok(weft_initialize(&options)));
    weft::rt::klt_set_spare_limit(64);
    if (hand_over) weft::rt::set_hand_over_hook(one_in_eight);
  }
  void TearDown() override {
    weft::rt::set_hand_over_hook(nullptr);
    EXPECT_TRUE(ok(weft_finalize()));
    EXPECT_EQ(wrong.load(), 0u);
    EXPECT_EQ(guarded, locked.load());
  }

  // By the primary ULT, by another ULT, by a thread that Weft does not know.
  static void by_each_joiner(const std::function<void()>& f) {
    f();
    if (HasFailure()) return;
    weft_test::in_ult(f);
    if (HasFailure()) return;
    on_klt(f);
  }
};

class Ways : public RunningBase,
             public testing::WithParamInterface<std::tuple<Way, unsigned, bool>> {
 protected:
  void SetUp() override { start(std::get<1>(GetParam()), std::get<2>(GetParam())); }
};

TEST_P(Ways, AtEachDeviation) {
  const Way way = std::get<0>(GetParam());
  for (const unsigned percent : {0u, 50u, 100u}) {
    by_each_joiner([=] {
      const uint64_t before = ran;
      run_batches(way, percent);
      EXPECT_EQ(ran.load() - before, kRounds * kUnits) << percent << " %";
      EXPECT_EQ(wrong.load(), 0u) << percent << " %";
    });
  }
}

// That the ways are the ways: without this a default that changes would leave some of them untested.
TEST_P(Ways, AreTaken) {
  const Way way = std::get<0>(GetParam());
  run_batches(way, 100);
  uint64_t run = 0, claimed = 0, promoted = 0, handed_over = 0;
  for (unsigned i = 0; i < weft_worker_count(); ++i) {
    weft_worker_stats_t stats;
    ASSERT_TRUE(ok(weft_worker_stats(weft_worker_get(i), &stats)));
    run += stats.units_run + stats.forks;
    claimed += stats.units_claimed;
    promoted += stats.promotions;
    handed_over += stats.handovers;
  }
  const bool plain = way == Way::kAuto || way == Way::kJoiner;
  // With more workers thieves may have been first everywhere.
  const bool alone = std::get<1>(GetParam()) == 1 && !std::get<2>(GetParam());
  if (alone && (plain || way == Way::kTasklet)) {
    EXPECT_GT(claimed, 0u);
  }
  if (alone && (plain || way == Way::kSc)) {
    EXPECT_GT(promoted, 0u);
  }
  if (way >= Way::kSc && way <= Way::kSize) {
    EXPECT_GE(run, kRounds * kUnits);
  }
  if (std::get<2>(GetParam())) {
    EXPECT_GT(handed_over, 0u);
  }
}

INSTANTIATE_TEST_SUITE_P(
    All, Ways,
    testing::Combine(testing::ValuesIn(kWays), testing::Values(1u, 2u, 4u), testing::Bool()),
    [](const auto& info) {
      return std::string(kWayNames[static_cast<int>(std::get<0>(info.param))]) +
             std::to_string(std::get<1>(info.param)) + (std::get<2>(info.param) ? "HandOver" : "");
    });

class Ends : public RunningBase, public testing::WithParamInterface<std::tuple<unsigned, bool>> {
 protected:
  void SetUp() override { start(std::get<0>(GetParam()), std::get<1>(GetParam())); }
};

// Exits at some depth of calls, with claimed children below it done and its own joiner's frames under it.
void leave_from(int depth, uint32_t chance) {
  volatile char frame[64];
  for (auto& c : frame) c = static_cast<char>(depth);
  if (depth > 0) return leave_from(depth - 1, chance);
  if ((chance & 1) != 0) deviate(chance >> 1);
  ran.fetch_add(1, std::memory_order_release);  // with it, what the job has done
  weft_exit();
  need(false);
}

void leaves(void* arg) {
  auto* job = static_cast<Job*>(arg);
  ++job->runs;
  leave_from(static_cast<int>(job->key % 7), mix(job->key));
  need(false);
}

// Joins one that leaves from the middle, and may leave itself.
void joins_one_that_leaves(void* arg) {
  auto* job = static_cast<Job*>(arg);
  const Canary canary(job->key);
  Job child{job->key + 1, 0, 0};
  weft_unit_t unit = nullptr;
  need(weft_ult_create(leaves, &child, nullptr, &unit) == WEFT_OK);
  need(weft_free(&unit) == WEFT_OK);
  need(child.runs == 1);
  canary.check();
  leaves(job);
}

void run_all(weft_fn fn, const weft_unit_attr_t* attr = nullptr) {
  std::vector<Job> jobs(kUnits);
  std::vector<weft_unit_t> units(kUnits);
  for (size_t i = 0; i < kUnits; ++i) {
    jobs[i] = {mix(static_cast<uint32_t>(i) + 1), 50, 0};
    need(weft_ult_create(fn, &jobs[i], attr, &units[i]) == WEFT_OK);
  }
  for (auto& unit : units) need(weft_free(&unit) == WEFT_OK);
  for (const Job& job : jobs) need(job.runs == 1);
}

TEST_P(Ends, ExitFromTheMiddle) {
  for (const Way way : {Way::kAuto, Way::kSc, Way::kSsL, Way::kSs, Way::kSize}) {
    const weft_unit_attr_t attr = attr_of(way, nullptr);
    by_each_joiner([&] {
      run_all(leaves, &attr);
      run_all(joins_one_that_leaves, &attr);
    });
    ASSERT_EQ(wrong.load(), 0u) << kWayNames[static_cast<int>(way)];
  }
}

struct Target {
  std::atomic<uint32_t> starts{0};
  std::atomic<uint32_t> ends{0};
  uint32_t key = 0;
};

// Until it is cancelled; or, one in four, not that long.
void runs_until_cancelled(void* arg) {
  auto* target = static_cast<Target*>(arg);
  ++target->starts;
  const uint32_t key = target->key;
  for (int i = 0; key % 4 != 0 || i < 3; ++i) {
    if (key % 3 == 0) weft_suspend();
    if (key % 3 == 1) weft_yield();
    if (key % 3 == 2) {
      join_children(key & ~2u, 1);
      weft_cancel_point();
      weft_yield();
    }
    if (key % 4 == 0 && key % 3 == 0) break;  // it has been cancelled, or nobody would resume it
  }
  ++target->ends;
}

TEST_P(Ends, Cancellation) {
  by_each_joiner([] {
    std::vector<Target> targets(kUnits);
    std::vector<weft_unit_t> units(kUnits);
    for (size_t i = 0; i < kUnits; ++i) {
      targets[i].key = static_cast<uint32_t>(i);
      need(weft_ult_create(runs_until_cancelled, &targets[i], nullptr, &units[i]) == WEFT_OK);
      if (i % 8 == 7) need(weft_cancel(units[i]) == WEFT_OK);
    }
    weft_yield();
    for (auto& unit : units) need(weft_cancel(unit) == WEFT_OK);
    for (auto& unit : units) need(weft_free(&unit) == WEFT_OK);
    for (const Target& target : targets) {
      need(target.starts <= 1 && target.ends <= target.starts);
      need(target.key % 4 == 0 || target.ends == 0);
      ran += target.starts;
    }
  });
  // A descriptor that has been used again knows nothing of that.
  for (const unsigned percent : {0u, 100u}) run_batches(Way::kAuto, percent);
  run_batches(Way::kFork, 100);
}

// ---- exceptions ----------------------------------------------------------------------------------

struct Catcher {
  uint32_t key;
  int depth;
  int caught;
};

void catches(void* arg);

void run_child(Catcher* me) {
  Catcher child{me->key * 2 + 1, me->depth - 1, 0};
  weft_unit_t unit = nullptr;
  need(weft_ult_create(catches, &child, nullptr, &unit) == WEFT_OK);
  if (me->key % 3 == 0) weft_yield();
  need(weft_free(&unit) == WEFT_OK);
  need(child.caught == child.depth + 1);
}

// Joins on the way out, while an exception is in flight.
struct JoinsInDestructor {
  Catcher* me;
  ~JoinsInDestructor() {
    need(std::uncaught_exceptions() == 1);
    if (me->depth > 0) run_child(me);
    weft_yield();
    need(std::uncaught_exceptions() == 1);
  }
};

[[noreturn]] void throws(uint32_t key, Catcher* me) {
  const JoinsInDestructor joins{me};
  throw std::runtime_error(std::to_string(key));
}

void catches(void* arg) {
  auto* me = static_cast<Catcher*>(arg);
  const Canary canary(me->key);
  need(std::uncaught_exceptions() == 0 && std::current_exception() == nullptr);
  try {
    if (me->key % 2 == 0) throws(me->key, me);
    throw std::runtime_error(std::to_string(me->key));
  } catch (const std::runtime_error&) {
    if (me->depth > 0) run_child(me);
    weft_yield();
    if (me->key % 5 == 1) suspend_and_be_resumed(me->key);
    try {
      throw;  // the one that this ULT is handling, not a child's
    } catch (const std::runtime_error& again) {
      need(again.what() == std::to_string(me->key));
      weft_yield();
    }
  }
  need(std::uncaught_exceptions() == 0 && std::current_exception() == nullptr);
  me->caught = me->depth + 1;
}

TEST_P(Ends, ExceptionsAcrossSuspension) {
  const auto all = [] {
    std::vector<Catcher> catchers(kUnits);
    std::vector<weft_unit_t> units(kUnits);
    for (size_t i = 0; i < kUnits; ++i) {
      catchers[i] = {static_cast<uint32_t>(i), 3, 0};
      need(weft_ult_create(catches, &catchers[i], nullptr, &units[i]) == WEFT_OK);
    }
    try {
      throw 42;
    } catch (int mine) {
      for (auto& unit : units) need(weft_free(&unit) == WEFT_OK);
      try {
        throw;
      } catch (int again) {
        need(mine == 42 && again == 42);
      }
    }
    need(std::uncaught_exceptions() == 0 && std::current_exception() == nullptr);
    for (const Catcher& catcher : catchers) need(catcher.caught == 4);
  };
  by_each_joiner(all);
}

// An exception that leaves a fork arrives at its join, whoever ran it.
int sum_or_throw(int n) {
  const Canary canary(static_cast<uint32_t>(n));
  if (n < 2) {
    deviate(mix(static_cast<uint32_t>(ran++)));
    if (ran % 3 == 0) throw std::runtime_error("leaf");
    return n;
  }
  try {
    auto [a, b] = weft::fork_join([n] { return sum_or_throw(n - 1); }, [n] { return sum_or_throw(n - 2); });
    return a + b;
  } catch (const std::runtime_error& e) {
    need(std::string(e.what()) == "leaf");
    weft_yield();
    if (n % 2 == 0) throw;
    return 0;
  }
}

TEST_P(Ends, ExceptionsOutOfForks) {
  by_each_joiner([] {
    try {
      sum_or_throw(9);
    } catch (const std::runtime_error&) {
    }
    need(std::uncaught_exceptions() == 0 && std::current_exception() == nullptr);
  });
}

// But main.
bool nobody_is_alive() {
  using weft::rt::Unit;
  bool any = false;
  const auto look = [](Unit* unit, void* any) {
    const weft::rt::UnitState state = weft::rt::unit_state(unit);
    const bool alive = state > weft::rt::UnitState::kFree && state < weft::rt::UnitState::kTerminated;
    if (alive && !weft::rt::unit_is(unit, weft::rt::flag::kPrimary)) *static_cast<bool*>(any) = true;
  };
  weft::rt::unit_for_each(look, &any);
  return !any;
}

TEST_P(Ends, Detached) {
  for (const Way way : {Way::kAuto, Way::kSc, Way::kSsL, Way::kSs, Way::kSize, Way::kTasklet}) {
    const weft_unit_attr_t attr = attr_of(way, nullptr);
    by_each_joiner([&] {
      const uint64_t before = ran;
      std::vector<Job> jobs(kUnits);
      const auto create = way == Way::kTasklet ? weft_tasklet_create : weft_ult_create;
      for (size_t i = 0; i < kUnits; ++i) {
        jobs[i] = {mix(static_cast<uint32_t>(i)), 50, 0};
        need(create(work, &jobs[i], &attr, nullptr) == WEFT_OK);
      }
      EXPECT_TRUE(wait_until([&] { return ran - before == kUnits; }));
      for (const Job& job : jobs) need(job.runs == 1);
    });
  }
  // The last ones have counted themselves and may still be on their way out.
  EXPECT_TRUE(wait_until([] { return nobody_is_alive(); }));
}

INSTANTIATE_TEST_SUITE_P(All, Ends, testing::Combine(testing::Values(1u, 2u, 4u), testing::Bool()),
                         [](const auto& info) {
                           return "Workers" + std::to_string(std::get<0>(info.param)) +
                                  (std::get<1>(info.param) ? "HandOver" : "");
                         });

}  // namespace
