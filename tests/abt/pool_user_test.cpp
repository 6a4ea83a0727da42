// User-defined pools, of both kinds of definitions: which unit they are given when, and why.
#include <deque>
#include <functional>
#include <mutex>
#include <unordered_set>

#include "support/abt_units.hpp"

namespace {

using namespace weft_test;

// What a pool has been told. A unit is a number of four, so that none is anybody's address.
struct Log {
  std::mutex lock;
  std::deque<ABT_unit> queue;
  std::unordered_set<ABT_unit> units;
  std::vector<ABT_pool_context> pushes;
  std::vector<ABT_pool_context> pops;
  int created = 0;
  int freed = 0;
  bool refuse = false;
  std::function<void()> at_creation;
  int inits = 0;
  int frees = 0;
};

Log* log_of(ABT_pool pool) {
  void* data = nullptr;
  EXPECT_TRUE(abt_ok(ABT_pool_get_data(pool, &data)));
  return static_cast<Log*>(data);
}

// ---- the present definition

ABT_unit create_unit(ABT_pool pool, ABT_thread thread) {
  Log* log = log_of(pool);
  if (log->at_creation) log->at_creation();
  std::lock_guard hold(log->lock);
  if (log->refuse) return ABT_UNIT_NULL;
  ++log->created;
  auto** memory = new ABT_thread*[1];
  memory[0] = reinterpret_cast<ABT_thread*>(thread);
  const auto unit = reinterpret_cast<ABT_unit>(memory);
  log->units.insert(unit);
  return unit;
}

void free_unit(ABT_pool pool, ABT_unit unit) {
  Log* log = log_of(pool);
  std::lock_guard hold(log->lock);
  EXPECT_EQ(log->units.erase(unit), 1u);
  EXPECT_EQ(std::count(log->queue.begin(), log->queue.end(), unit), 0);
  ++log->freed;
  delete[] reinterpret_cast<ABT_thread**>(unit);
}

ABT_bool is_empty(ABT_pool pool) {
  Log* log = log_of(pool);
  std::lock_guard hold(log->lock);
  return log->queue.empty() ? ABT_TRUE : ABT_FALSE;
}

ABT_unit take(Log* log) {
  if (log->queue.empty()) return ABT_UNIT_NULL;
  const ABT_unit unit = log->queue.front();
  log->queue.pop_front();
  return unit;
}

ABT_thread pop(ABT_pool pool, ABT_pool_context context) {
  Log* log = log_of(pool);
  std::lock_guard hold(log->lock);
  const ABT_unit unit = take(log);
  if (unit == ABT_UNIT_NULL) return ABT_THREAD_NULL;
  log->pops.push_back(context);
  return reinterpret_cast<ABT_thread*>(unit)[0];
}

void push(ABT_pool pool, ABT_unit unit, ABT_pool_context context) {
  Log* log = log_of(pool);
  std::lock_guard hold(log->lock);
  EXPECT_EQ(log->units.count(unit), 1u);
  log->queue.push_back(unit);
  log->pushes.push_back(context);
}

size_t get_size(ABT_pool pool) {
  Log* log = log_of(pool);
  std::lock_guard hold(log->lock);
  return log->queue.size();
}

ABT_thread pop_wait(ABT_pool pool, double, ABT_pool_context context) { return pop(pool, context); }

void pop_many(ABT_pool pool, ABT_thread* threads, size_t len, size_t* num, ABT_pool_context context) {
  for (*num = 0; *num < len; ++*num) {
    threads[*num] = pop(pool, context);
    if (threads[*num] == ABT_THREAD_NULL) break;
  }
}

void push_many(ABT_pool pool, const ABT_unit* units, size_t num, ABT_pool_context context) {
  for (size_t i = 0; i < num; ++i) push(pool, units[i], context);
}

void print_all(ABT_pool pool, void* arg, void (*print)(void*, ABT_thread)) {
  for (const ABT_unit unit : log_of(pool)->queue) print(arg, reinterpret_cast<ABT_thread*>(unit)[0]);
}

Log* next_log = nullptr;

int init(ABT_pool pool, ABT_pool_config config) {
  int wanted = ABT_SUCCESS;
  if (config != ABT_POOL_CONFIG_NULL) static_cast<void>(ABT_pool_config_get(config, 0, nullptr, &wanted));
  if (wanted != ABT_SUCCESS) return wanted;
  ++next_log->inits;
  return ABT_pool_set_data(pool, next_log);
}

void free_pool(ABT_pool pool) { ++log_of(pool)->frees; }

// ---- the older one, above the same log

ABT_unit old_create(ABT_thread thread) {
  if (next_log->at_creation) next_log->at_creation();
  auto** memory = new ABT_thread*[1];
  memory[0] = reinterpret_cast<ABT_thread*>(thread);
  const auto unit = reinterpret_cast<ABT_unit>(memory);
  std::lock_guard hold(next_log->lock);
  ++next_log->created;
  next_log->units.insert(unit);
  return unit;
}

void old_free(ABT_unit* unit) {
  std::lock_guard hold(next_log->lock);
  EXPECT_EQ(next_log->units.erase(*unit), 1u);
  ++next_log->freed;
  delete[] reinterpret_cast<ABT_thread**>(*unit);
  *unit = ABT_UNIT_NULL;
}

ABT_bool old_is_in_pool(ABT_unit unit) {
  std::lock_guard hold(next_log->lock);
  const auto& queue = next_log->queue;
  return std::count(queue.begin(), queue.end(), unit) != 0 ? ABT_TRUE : ABT_FALSE;
}

void old_push(ABT_pool pool, ABT_unit unit) { push(pool, unit, 0); }

ABT_unit old_pop(ABT_pool pool) {
  Log* log = log_of(pool);
  std::lock_guard hold(log->lock);
  return take(log);
}

ABT_unit old_timedwait(ABT_pool pool, double) { return old_pop(pool); }

int old_remove(ABT_pool pool, ABT_unit unit) {
  Log* log = log_of(pool);
  std::lock_guard hold(log->lock);
  const auto found = std::find(log->queue.begin(), log->queue.end(), unit);
  if (found == log->queue.end()) return ABT_ERR_POOL;
  log->queue.erase(found);
  return ABT_SUCCESS;
}

int old_free_pool(ABT_pool pool) {
  ++log_of(pool)->frees;
  return ABT_SUCCESS;
}

int old_print_all(ABT_pool pool, void* arg, void (*print)(void*, ABT_unit)) {
  for (const ABT_unit unit : log_of(pool)->queue) print(arg, unit);
  return ABT_SUCCESS;
}

// Both kinds of definitions as one fixture. Each pool has a log.
class AbtUserPool : public testing::TestWithParam<bool> {
 protected:
  bool old() const { return GetParam(); }

  void SetUp() override {
    ASSERT_TRUE(abt_ok(ABT_init(0, nullptr)));
    if (old()) {
      def_.access = ABT_POOL_ACCESS_MPMC;
      def_.u_is_in_pool = old_is_in_pool;
      def_.u_create_from_thread = old_create;
      def_.u_free = old_free;
      def_.p_init = init;
      def_.p_get_size = get_size;
      def_.p_push = old_push;
      def_.p_pop = old_pop;
      def_.p_pop_timedwait = old_timedwait;
      def_.p_remove = old_remove;
      def_.p_free = old_free_pool;
      def_.p_print_all = old_print_all;
      user_ = &def_;
    } else {
      ASSERT_TRUE(abt_ok(ABT_pool_user_def_create(create_unit, free_unit, is_empty, pop, push, &user_)));
      EXPECT_TRUE(abt_ok(ABT_pool_user_def_set_init(user_, init)));
      EXPECT_TRUE(abt_ok(ABT_pool_user_def_set_free(user_, free_pool)));
      EXPECT_TRUE(abt_ok(ABT_pool_user_def_set_get_size(user_, get_size)));
      EXPECT_TRUE(abt_ok(ABT_pool_user_def_set_pop_wait(user_, pop_wait)));
      EXPECT_TRUE(abt_ok(ABT_pool_user_def_set_pop_many(user_, pop_many)));
      EXPECT_TRUE(abt_ok(ABT_pool_user_def_set_push_many(user_, push_many)));
      EXPECT_TRUE(abt_ok(ABT_pool_user_def_set_print_all(user_, print_all)));
    }
    next_log = &log_;
    ASSERT_TRUE(abt_ok(ABT_pool_create(user_, ABT_POOL_CONFIG_NULL, &pool_)));
    EXPECT_EQ(log_.inits, 1);
  }

  void TearDown() override {
    if (pool_ != ABT_POOL_NULL) {
      EXPECT_TRUE(abt_ok(ABT_pool_free(&pool_)));
    }
    EXPECT_EQ(log_.frees, 1);
    if (!old()) {
      EXPECT_TRUE(abt_ok(ABT_pool_user_def_free(&user_)));
    }
    EXPECT_TRUE(abt_ok(ABT_finalize()));
    EXPECT_EQ(log_.created, log_.freed);
  }

  // An ES that has this pool and nothing else, until the end of the scope.
  class Served {
   public:
    explicit Served(ABT_pool pool) {
      EXPECT_TRUE(abt_ok(ABT_xstream_create_basic(ABT_SCHED_DEFAULT, 1, &pool, ABT_SCHED_CONFIG_NULL, &xstream)));
    }
    ~Served() { EXPECT_TRUE(abt_ok(ABT_xstream_free(&xstream))); }
    ABT_xstream xstream;
  };

  Log log_;
  struct ABT_pool_def def_ {};
  ABT_pool_user_def user_ = ABT_POOL_USER_DEF_NULL;
  ABT_pool pool_ = ABT_POOL_NULL;
};

INSTANTIATE_TEST_SUITE_P(Definitions, AbtUserPool, testing::Bool(),
                         [](const auto& info) { return info.param ? "Old" : "Present"; });

TEST_P(AbtUserPool, RunsUnits) {
  const Served served(pool_);
  std::atomic<int> ran = 0;
  AbtCall call([&] {
    EXPECT_EQ(my_rank(), 1);
    ABT_thread_yield();
    ++ran;
  });
  std::vector<ABT_thread> threads;
  for (int i = 0; i < 20; ++i) threads.push_back(i % 4 == 3 ? call.task(pool_) : call.thread(pool_));
  for (int i = 0; i < 20; ++i) {
    EXPECT_TRUE(abt_ok(ABT_thread_create(pool_, &AbtCall::run, &call, ABT_THREAD_ATTR_NULL, nullptr)));
  }
  for (ABT_thread& thread : threads) EXPECT_TRUE(abt_ok(ABT_thread_free(&thread)));
  EXPECT_TRUE(abt_wait_until([&] { return ran == 40; }));
}

// As long as nobody takes workers from ULTs.
TEST_P(AbtUserPool, ItsFunctionMayWaitForAnotherUltOfTheSameEs) {
  ABT_mutex mutex;
  ASSERT_TRUE(abt_ok(ABT_mutex_create(&mutex)));
  AbtCall holder([&] {
    EXPECT_TRUE(abt_ok(ABT_mutex_lock(mutex)));
    for (int i = 0; i < 3; ++i) ABT_thread_yield();
    EXPECT_TRUE(abt_ok(ABT_mutex_unlock(mutex)));
  });
  ABT_thread holds = holder.thread(main_pool());
  ABT_thread_yield();
  log_.at_creation = [&] {
    EXPECT_TRUE(abt_ok(ABT_mutex_lock(mutex)));
    EXPECT_TRUE(abt_ok(ABT_mutex_unlock(mutex)));
  };
  {
    const Served served(pool_);
    AbtCall call([] {});
    ABT_thread made = call.thread(pool_);
    EXPECT_TRUE(abt_ok(ABT_thread_free(&made)));
  }
  EXPECT_TRUE(abt_ok(ABT_thread_free(&holds)));
  EXPECT_TRUE(abt_ok(ABT_mutex_free(&mutex)));
}

TEST_P(AbtUserPool, UnitsAreMadeAnewForAnotherPool) {
  AbtCall call([] {});
  ABT_thread thread = call.thread(pool_);
  EXPECT_EQ(log_.created, 1);
  ABT_unit first;
  EXPECT_TRUE(abt_ok(ABT_thread_get_unit(thread, &first)));
  EXPECT_EQ(log_.units.count(first), 1u);
  ABT_thread back;
  EXPECT_TRUE(abt_ok(ABT_unit_get_thread(first, &back)));
  EXPECT_EQ(back, thread);
  EXPECT_EQ(size_of(pool_), 1u);
  EXPECT_EQ(total_size_of(pool_), 1u);
  ABT_unit popped;
  EXPECT_TRUE(abt_ok(ABT_pool_pop(pool_, &popped)));
  EXPECT_EQ(popped, first);
  EXPECT_TRUE(abt_ok(ABT_pool_push(pool_, popped)));  // the same pool, the same unit
  EXPECT_EQ(log_.created, 1);
  EXPECT_TRUE(abt_ok(ABT_pool_pop_thread(pool_, &back)));
  EXPECT_EQ(back, thread);
  EXPECT_TRUE(abt_ok(ABT_pool_push_thread(main_pool(), thread)));
  EXPECT_EQ(log_.freed, 1);
  EXPECT_TRUE(abt_fails(ABT_ERR_INV_UNIT, ABT_unit_get_thread(first, &back)));
  EXPECT_TRUE(abt_ok(ABT_thread_join(thread)));
  // And back by a revival.
  EXPECT_TRUE(abt_ok(ABT_thread_revive(pool_, &AbtCall::run, &call, &thread)));
  EXPECT_EQ(log_.created, 2);
  EXPECT_TRUE(abt_ok(ABT_pool_pop_thread(pool_, &back)));
  EXPECT_TRUE(abt_ok(ABT_self_schedule(back, ABT_POOL_NULL)));
  EXPECT_EQ(state_of(thread), ABT_THREAD_STATE_TERMINATED);
  EXPECT_EQ(log_.freed, 1);
  EXPECT_TRUE(abt_ok(ABT_thread_free(&thread)));
  EXPECT_EQ(log_.freed, 2);
}

// More than there are places for in the table of units.
TEST_P(AbtUserPool, ManyUnitsAtOnce) {
  constexpr size_t kUnits = 120'000;
  std::atomic<size_t> ran = 0;
  AbtCall call([&] { ++ran; });
  std::vector<ABT_thread> tasks(kUnits);
  for (ABT_thread& task : tasks) ASSERT_TRUE(abt_ok(ABT_task_create(pool_, &AbtCall::run, &call, &task)));
  std::vector<ABT_unit> units(kUnits);
  size_t wrong = 0;
  for (size_t i = 0; i < kUnits; ++i) {
    ABT_thread back = nullptr;
    const bool found = ABT_thread_get_unit(tasks[i], &units[i]) == ABT_SUCCESS && ABT_unit_get_thread(units[i], &back) == ABT_SUCCESS;
    wrong += !found || back != tasks[i];
  }
  EXPECT_EQ(wrong, 0u);
  {
    const Served served(pool_);
    EXPECT_TRUE(abt_wait_until([&] { return ran == kUnits; }));
    for (ABT_thread& task : tasks) ASSERT_TRUE(abt_ok(ABT_task_free(&task)));
  }
  for (const ABT_unit unit : units) {
    ABT_thread back = nullptr;
    wrong += ABT_unit_get_thread(unit, &back) == ABT_SUCCESS;
  }
  EXPECT_EQ(wrong, 0u);
  EXPECT_EQ(log_.created, static_cast<int>(kUnits));
}

// What it needs more room for comes after its pool has made a unit of it, or before.
TEST_P(AbtUserPool, UnitsHaveValuesOfKeys) {
  static std::atomic<int> destroyed;
  destroyed = 0;
  ABT_key key;
  ASSERT_TRUE(abt_ok(ABT_key_create([](void*) { ++destroyed; }, &key)));
  AbtCall call([] {});
  int value = 0;
  ABT_thread thread = call.thread(pool_);
  ABT_unit unit, same;
  EXPECT_TRUE(abt_ok(ABT_thread_get_unit(thread, &unit)));
  EXPECT_TRUE(abt_ok(ABT_thread_set_specific(thread, key, &value)));
  EXPECT_TRUE(abt_ok(ABT_thread_get_unit(thread, &same)));
  EXPECT_EQ(unit, same);
  ABT_thread popped;
  EXPECT_TRUE(abt_ok(ABT_pool_pop_thread(pool_, &popped)));
  EXPECT_TRUE(abt_ok(ABT_pool_push_thread(main_pool(), popped)));
  EXPECT_TRUE(abt_ok(ABT_thread_free(&thread)));
  thread = call.thread(main_pool());
  EXPECT_TRUE(abt_ok(ABT_thread_set_specific(thread, key, &value)));
  EXPECT_TRUE(abt_ok(ABT_pool_pop_thread(main_pool(), &popped)));
  EXPECT_TRUE(abt_ok(ABT_pool_push_thread(pool_, popped)));
  {
    const Served served(pool_);
    EXPECT_TRUE(abt_ok(ABT_thread_free(&thread)));
  }
  EXPECT_EQ(log_.freed, 2);
  EXPECT_EQ(destroyed, 2);
  EXPECT_TRUE(abt_ok(ABT_key_free(&key)));
}

TEST_P(AbtUserPool, AssociationAlone) {
  in_abt_ult([&] {
    ABT_thread self;
    ABT_pool home;
    EXPECT_TRUE(abt_ok(ABT_self_get_thread(&self)));
    EXPECT_TRUE(abt_ok(ABT_self_set_associated_pool(pool_)));
    EXPECT_EQ(log_.created, 1);
    EXPECT_TRUE(abt_ok(ABT_self_get_last_pool(&home)));
    EXPECT_EQ(home, pool_);
    ABT_unit unit;
    EXPECT_TRUE(abt_ok(ABT_self_get_unit(&unit)));
    EXPECT_EQ(log_.units.count(unit), 1u);
    EXPECT_TRUE(abt_ok(ABT_thread_set_associated_pool(self, main_pool())));
    EXPECT_EQ(log_.freed, 1);
  });
}

TEST_P(AbtUserPool, OptionalFunctions) {
  AbtCall call([] {});
  std::vector<ABT_thread> threads;
  for (int i = 0; i < 3; ++i) threads.push_back(call.thread(pool_));
  std::vector<ABT_thread> seen;
  EXPECT_TRUE(abt_ok(ABT_pool_print_all_threads(
      pool_, &seen, [](void* arg, ABT_thread t) { static_cast<std::vector<ABT_thread>*>(arg)->push_back(t); })));
  EXPECT_EQ(seen, threads);
  std::vector<ABT_unit> units;
  EXPECT_TRUE(abt_ok(ABT_pool_print_all(
      pool_, &units, [](void* arg, ABT_unit u) { static_cast<std::vector<ABT_unit>*>(arg)->push_back(u); })));
  EXPECT_EQ(units.size(), 3u);
  const int removed = ABT_pool_remove(pool_, units[0]);
  EXPECT_TRUE(abt_fails(old() ? ABT_SUCCESS : ABT_ERR_POOL, removed));
  if (removed == ABT_SUCCESS) {
    EXPECT_TRUE(abt_ok(ABT_pool_push(pool_, units[0])));
  }
  ABT_thread thread = ABT_THREAD_NULL;
  if (old() && !kAbt20) {
    EXPECT_TRUE(abt_fails(ABT_ERR_POOL, ABT_pool_pop_wait_thread(pool_, &thread, 0)));
    EXPECT_EQ(thread, ABT_THREAD_NULL);
    ABT_unit unit;
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
    EXPECT_TRUE(abt_ok(ABT_pool_pop_timedwait(pool_, &unit, 0)));
#pragma GCC diagnostic pop
    EXPECT_TRUE(abt_ok(ABT_pool_push(pool_, unit)));
  } else if (!old()) {
    EXPECT_TRUE(abt_ok(ABT_pool_pop_wait_thread(pool_, &thread, 0)));
    EXPECT_TRUE(abt_ok(ABT_pool_push_thread(pool_, thread)));
  }
  ABT_thread popped[4];
  size_t count = 0;
  EXPECT_TRUE(abt_ok(ABT_pool_pop_threads(pool_, popped, 4, &count)));
  EXPECT_EQ(count, 3u);
  EXPECT_TRUE(abt_ok(ABT_pool_push_threads(pool_, popped, 3)));
  EXPECT_EQ(size_of(pool_), 3u);
  EXPECT_TRUE(abt_ok(ABT_pool_pop_threads(pool_, popped, 4, &count)));
  EXPECT_TRUE(abt_ok(ABT_pool_push_threads(main_pool(), popped, 3)));
  EXPECT_EQ(log_.freed, 3);
  for (ABT_thread& each : threads) EXPECT_TRUE(abt_ok(ABT_thread_free(&each)));
}

TEST_P(AbtUserPool, FailingInitMakesNoPool) {
  ABT_pool_config config;
  const int error = ABT_ERR_SYS;
  ASSERT_TRUE(abt_ok(ABT_pool_config_create(&config)));
  EXPECT_TRUE(abt_ok(ABT_pool_config_set(config, 0, ABT_POOL_CONFIG_INT, &error)));
  ABT_pool pool;
  EXPECT_TRUE(abt_fails(ABT_ERR_SYS, ABT_pool_create(user_, config, &pool)));
  EXPECT_TRUE(abt_ok(ABT_pool_config_free(&config)));
}

TEST_P(AbtUserPool, YieldsToAUnitInThePool) {
  const Served served(pool_);
  std::vector<int> order;
  std::vector<int> errors;
  std::atomic<bool> all = false;
  ABT_thread last = ABT_THREAD_NULL;
  AbtCall second([&] { order.push_back(2); });
  AbtCall third([&] { order.push_back(3); });
  AbtCall first([&] {
    while (!all) ABT_thread_yield();
    order.push_back(1);
    errors.push_back(ABT_thread_yield_to(last));
    order.push_back(4);
  });
  ABT_thread threads[3] = {first.thread(pool_), second.thread(pool_), ABT_THREAD_NULL};
  EXPECT_TRUE(abt_wait_until([&] { return state_of(threads[1]) == ABT_THREAD_STATE_TERMINATED; }));
  {
    std::lock_guard hold(log_.lock);  // so that it is not picked before the other one goes to it
  }
  last = threads[2] = third.thread(pool_);
  all = true;
  for (ABT_thread& thread : threads) EXPECT_TRUE(abt_ok(ABT_thread_free(&thread)));
  EXPECT_EQ(errors.size(), 1u);
  EXPECT_EQ(std::count(order.begin(), order.end(), 3), 1);
}

// Only the present definition is told why.
class AbtPoolContext : public AbtUserPool {};
INSTANTIATE_TEST_SUITE_P(Present, AbtPoolContext, testing::Values(false));

TEST_P(AbtPoolContext, SaysWhyAUnitComes) {
  using Contexts = std::vector<ABT_pool_context>;
  ABT_thread thread;
  AbtCall call([&] {
    ABT_thread_yield();
    EXPECT_TRUE(abt_ok(ABT_self_suspend()));
    ABT_self_yield();
  });
  thread = call.thread(pool_);
  ABT_thread popped;
  const auto step = [&] {
    EXPECT_TRUE(abt_ok(ABT_pool_pop_thread_ex(pool_, &popped, 777)));
    EXPECT_EQ(popped, thread);
    EXPECT_TRUE(abt_ok(ABT_self_schedule(popped, ABT_POOL_NULL)));
  };
  EXPECT_EQ(std::exchange(log_.pushes, {}), Contexts{ABT_POOL_CONTEXT_OP_THREAD_CREATE});
  step();
  EXPECT_EQ(std::exchange(log_.pushes, {}), Contexts{ABT_POOL_CONTEXT_OP_THREAD_YIELD});
  step();
  EXPECT_EQ(std::exchange(log_.pushes, {}), Contexts{});
  EXPECT_EQ(total_size_of(pool_), 1u);
  EXPECT_TRUE(abt_ok(ABT_thread_resume(thread)));
  EXPECT_EQ(std::exchange(log_.pushes, {}), Contexts{ABT_POOL_CONTEXT_OP_THREAD_RESUME});
  step();
  EXPECT_EQ(std::exchange(log_.pushes, {}), Contexts{ABT_POOL_CONTEXT_OP_THREAD_YIELD});
  EXPECT_TRUE(abt_ok(ABT_pool_pop_thread_ex(pool_, &popped, 777)));
  EXPECT_TRUE(abt_ok(ABT_pool_push_thread(pool_, popped)));
  EXPECT_TRUE(abt_ok(ABT_pool_pop_thread_ex(pool_, &popped, 777)));
  EXPECT_TRUE(abt_ok(ABT_pool_push_thread_ex(pool_, popped, 4711)));
  EXPECT_EQ(std::exchange(log_.pushes, {}), (Contexts{ABT_POOL_CONTEXT_OP_POOL_OTHER, 4711}));
  step();
  EXPECT_TRUE(abt_ok(ABT_thread_revive(pool_, [](void*) {}, nullptr, &thread)));
  EXPECT_EQ(std::exchange(log_.pushes, {}), Contexts{ABT_POOL_CONTEXT_OP_THREAD_REVIVE});
  step();
  for (const ABT_pool_context context : log_.pops) EXPECT_EQ(context, 777u);
  EXPECT_TRUE(abt_ok(ABT_thread_free(&thread)));
}

TEST_P(AbtPoolContext, OfAUnitThatWasMadeInABuiltInPool) {
  using Contexts = std::vector<ABT_pool_context>;
  AbtCall call([&] {
    EXPECT_TRUE(abt_ok(ABT_self_set_associated_pool(pool_)));
    EXPECT_TRUE(abt_ok(ABT_self_suspend()));
  });
  ABT_thread thread = call.thread(main_pool());
  ABT_thread_yield();
  EXPECT_EQ(log_.pushes, Contexts{});
  EXPECT_TRUE(abt_ok(ABT_thread_resume(thread)));
  EXPECT_EQ(log_.pushes, Contexts{ABT_POOL_CONTEXT_OP_THREAD_RESUME});
  ABT_thread popped;
  EXPECT_TRUE(abt_ok(ABT_pool_pop_thread(pool_, &popped)));
  EXPECT_EQ(popped, thread);
  EXPECT_TRUE(abt_ok(ABT_self_schedule(popped, ABT_POOL_NULL)));
  EXPECT_TRUE(abt_ok(ABT_thread_free(&thread)));
}

TEST_P(AbtPoolContext, SaysWhyAUnitComesThatGaveItsPlaceAway) {
  using Contexts = std::vector<ABT_pool_context>;
  std::vector<Contexts> seen;
  std::atomic<bool> done = false;
  {
    const Served served(pool_);
    AbtCall child([&] { seen.push_back(std::exchange(log_.pushes, {})); });
    AbtCall waits([&] { EXPECT_TRUE(abt_ok(ABT_self_suspend())); });
    AbtCall call([&] {
      ABT_thread thread, other;
      log_.pushes.clear();
      EXPECT_TRUE(abt_ok(ABT_thread_create_to(pool_, &AbtCall::run, &child, ABT_THREAD_ATTR_NULL, &thread)));
      EXPECT_TRUE(abt_ok(ABT_thread_revive_to(pool_, &AbtCall::run, &child, &thread)));
      other = waits.thread(pool_);
      while (state_of(other) != ABT_THREAD_STATE_BLOCKED) ABT_thread_yield();
      log_.pushes.clear();
      EXPECT_TRUE(abt_ok(ABT_self_resume_yield_to(other)));
      seen.push_back(std::exchange(log_.pushes, {}));
      EXPECT_TRUE(abt_ok(ABT_thread_free(&other)));
      EXPECT_TRUE(abt_ok(ABT_thread_free(&thread)));
      done = true;
    });
    EXPECT_TRUE(abt_ok(ABT_thread_create(pool_, &AbtCall::run, &call, ABT_THREAD_ATTR_NULL, nullptr)));
    EXPECT_TRUE(abt_wait_until([&] { return done.load(); }));
  }
  EXPECT_EQ(seen, (std::vector<Contexts>{{ABT_POOL_CONTEXT_OP_THREAD_CREATE_TO},
                                         {ABT_POOL_CONTEXT_OP_THREAD_REVIVE_TO},
                                         {ABT_POOL_CONTEXT_OP_THREAD_RESUME_YIELD_TO}}));
}

// Without a word to the pool, and before what is ready there.
TEST_P(AbtPoolContext, TheJoinerOfAUltThatEndsOnItsEsGoesOnAtOnce) {
  std::vector<int> order;
  std::vector<ABT_pool_context> pushes;
  AbtCall later([&] { order.push_back(3); });
  AbtCall joined([&] {
    EXPECT_TRUE(abt_ok(ABT_self_yield()));
    order.push_back(1);
    log_.pushes.clear();
  });
  ABT_thread threads[3];
  threads[0] = joined.thread(pool_);
  AbtCall joins([&] {
    EXPECT_TRUE(abt_ok(ABT_thread_free(&threads[0])));
    order.push_back(2);
    pushes = log_.pushes;
  });
  threads[1] = joins.thread(pool_);
  threads[2] = later.thread(pool_);
  const auto step = [&] {  // as a scheduler does
    ABT_thread popped = ABT_THREAD_NULL;
    EXPECT_TRUE(abt_ok(ABT_pool_pop_thread(pool_, &popped)));
    if (popped != ABT_THREAD_NULL) {
      EXPECT_TRUE(abt_ok(ABT_self_schedule(popped, ABT_POOL_NULL)));
    }
  };
  step();  // the joined one yields, behind `later`
  step();  // its joiner waits
  ABT_thread first = ABT_THREAD_NULL;
  EXPECT_TRUE(abt_ok(ABT_pool_pop_thread(pool_, &first)));
  EXPECT_EQ(first, threads[2]);
  EXPECT_TRUE(abt_ok(ABT_pool_push_thread(pool_, first)));  // behind the joined one
  step();
  EXPECT_EQ(order, (std::vector{1, 2}));
  EXPECT_EQ(pushes, std::vector<ABT_pool_context>{});
  step();
  EXPECT_EQ(order, (std::vector{1, 2, 3}));
  EXPECT_TRUE(abt_ok(ABT_thread_free(&threads[1])));
  EXPECT_TRUE(abt_ok(ABT_thread_free(&threads[2])));
}

TEST_P(AbtPoolContext, AUnitThatCannotBeMadeIsAnError) {
  log_.refuse = true;
  ABT_thread thread = nullptr;
  EXPECT_TRUE(abt_fails(ABT_ERR_UNIT,
                        ABT_thread_create(pool_, [](void*) {}, nullptr, ABT_THREAD_ATTR_NULL, &thread)));
  EXPECT_EQ(thread, kAbt20 ? nullptr : ABT_THREAD_NULL);
  EXPECT_TRUE(abt_fails(ABT_ERR_UNIT, ABT_task_create(pool_, [](void*) {}, nullptr, nullptr)));
  AbtCall call([] {});
  thread = call.thread(main_pool());
  ABT_thread popped;
  EXPECT_TRUE(abt_ok(ABT_pool_pop_thread(main_pool(), &popped)));
  EXPECT_TRUE(abt_fails(ABT_ERR_UNIT, ABT_pool_push_thread(pool_, popped)));
  EXPECT_TRUE(abt_fails(ABT_ERR_UNIT, ABT_pool_push_threads(pool_, &popped, 1)));
  EXPECT_TRUE(abt_ok(ABT_pool_push_thread(main_pool(), popped)));
  EXPECT_TRUE(abt_ok(ABT_thread_join(thread)));
  EXPECT_TRUE(abt_fails(ABT_ERR_UNIT, ABT_thread_revive(pool_, [](void*) {}, nullptr, &thread)));
  EXPECT_TRUE(abt_ok(ABT_thread_free(&thread)));
}

// Without what is optional.
TEST_P(AbtPoolContext, WhatADefinitionDoesNotSay) {
  ABT_pool_user_def def;
  ASSERT_TRUE(abt_ok(ABT_pool_user_def_create(create_unit, free_unit, is_empty, pop, push, &def)));
  ABT_pool pool;
  ASSERT_TRUE(abt_ok(ABT_pool_create(def, ABT_POOL_CONFIG_NULL, &pool)));
  Log log;
  EXPECT_TRUE(abt_ok(ABT_pool_set_data(pool, &log)));
  size_t size;
  ABT_thread thread = ABT_THREAD_NULL;
  EXPECT_TRUE(abt_fails(ABT_ERR_POOL, ABT_pool_get_size(pool, &size)));
  EXPECT_TRUE(abt_fails(ABT_ERR_POOL, ABT_pool_get_total_size(pool, &size)));
  EXPECT_TRUE(abt_fails(ABT_ERR_POOL, ABT_pool_pop_wait_thread(pool, &thread, 0)));
  EXPECT_TRUE(abt_fails(ABT_ERR_POOL, ABT_pool_pop_threads(pool, &thread, 1, &size)));
  EXPECT_TRUE(abt_fails(ABT_ERR_POOL, ABT_pool_push_threads(pool, &thread, 1)));
  EXPECT_TRUE(abt_fails(ABT_ERR_POOL, ABT_pool_print_all_threads(pool, nullptr, nullptr)));
  EXPECT_TRUE(abt_fails(ABT_ERR_POOL, ABT_pool_print_all(pool, nullptr, nullptr)));
  ABT_bool empty = ABT_FALSE;
  EXPECT_TRUE(abt_ok(ABT_pool_is_empty(pool, &empty)));
  EXPECT_EQ(empty, ABT_TRUE);
  EXPECT_TRUE(abt_ok(ABT_pool_free(&pool)));
  EXPECT_TRUE(abt_ok(ABT_pool_user_def_free(&def)));
  EXPECT_TRUE(abt_fails(ABT_ERR_INV_POOL_USER_DEF, ABT_pool_user_def_free(&def)));
  EXPECT_TRUE(abt_fails(ABT_ERR_INV_POOL_USER_DEF, ABT_pool_user_def_set_init(def, init)));
}

}  // namespace
