// Preemption with an allocator that has one lock: whoever starts a thread waits for it, and so may whoever makes spare kernel
// threads, while a ULT that was preempted inside malloc holds it.
#include <errno.h>
#include <pthread.h>

#include <string>
#include <vector>

#include "sanitizer_switch.hpp"
#include "support/runtime_fixture.hpp"
#include "weft/block.h"
#include "weft/identity.h"
#include "weft/preempt.h"

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)

extern "C" {

void* __libc_malloc(size_t);
void* __libc_calloc(size_t, size_t);
void* __libc_realloc(void*, size_t);
void __libc_free(void*);

static pthread_mutex_t malloc_lock = PTHREAD_MUTEX_INITIALIZER;

// Long enough that ticks come inside.
static void* locked(void* (*f)(void*, size_t, size_t), void* memory, size_t a, size_t b) {
  pthread_mutex_lock(&malloc_lock);
  for (int i = 0; i < 200; ++i) asm volatile("");
  void* const result = f(memory, a, b);
  pthread_mutex_unlock(&malloc_lock);
  return result;
}

void* malloc(size_t size) {
  return locked([](void*, size_t a, size_t) { return __libc_malloc(a); }, nullptr, size, 0);
}
void* calloc(size_t count, size_t size) {
  return locked([](void*, size_t a, size_t b) { return __libc_calloc(a, b); }, nullptr, count, size);
}
void* realloc(void* memory, size_t size) {
  return locked([](void* m, size_t a, size_t) { return __libc_realloc(m, a); }, memory, size, 0);
}
void free(void* memory) {
  const int error = errno;
  locked([](void* m, size_t, size_t) -> void* { return __libc_free(m), nullptr; }, memory, 0, 0);
  errno = error;
}

}  // extern "C"

#endif

namespace {

using namespace weft_test;

void churn() {
  std::vector<std::string> strings;
  for (int round = 0; round < 500; ++round) {
    strings.push_back(std::string(static_cast<size_t>(20 + round), 'x'));
    if (round % 7 == 0) strings.clear();
  }
}

class OneLockMalloc : public WorkersTest {
 protected:
  static void tick() {
    ASSERT_TRUE(ok(weft_preemption_set_interval(100'000)));
    ASSERT_TRUE(ok(weft_preemption_set_mode(WEFT_PREEMPTION_ON)));
  }

  static void churn_in_ults(const weft_unit_attr_t& attr, weft_fn fn = [](void*) { churn(); }) {
    std::vector<weft_unit_t> units(64);
    for (auto& unit : units) ASSERT_TRUE(ok(weft_ult_create(fn, nullptr, &attr, &unit)));
    EXPECT_TRUE(ok(weft_free_many(units.size(), units.data())));
  }
};
INSTANTIATE_TEST_SUITE_P(Workers, OneLockMalloc, kWorkerCounts);

TEST_P(OneLockMalloc, PreemptedInside) {
  tick();
  churn_in_ults(WEFT_UNIT_ATTR_INIT);
}

// Who comes back from the kernel with the lock, and has no worker, is stopped with it.
TEST_P(OneLockMalloc, StoppedInside) {
  ASSERT_TRUE(ok(weft_blocking_set_mode(WEFT_BLOCKING_ON)));
  churn_in_ults(WEFT_UNIT_ATTR_INIT);
}

TEST_P(OneLockMalloc, PreemptedAndStoppedInside) {
  ASSERT_TRUE(ok(weft_blocking_set_mode(WEFT_BLOCKING_ON)));
  tick();
  churn_in_ults(WEFT_UNIT_ATTR_INIT);
}

TEST_P(OneLockMalloc, PreemptedInsideWithAnIdentity) {
  if (weft::rt::san::no_identities() != nullptr) GTEST_SKIP() << weft::rt::san::no_identities();
  tick();
  weft_unit_attr_t attr = WEFT_UNIT_ATTR_INIT;
  attr.identity = WEFT_IDENTITY_OWN;
  churn_in_ults(attr);
}

// Such a one is not taken out of its turn otherwise, because one that has not begun would end there.
TEST_P(OneLockMalloc, PreemptedInsideAfterACancellation) {
  tick();
  churn_in_ults(WEFT_UNIT_ATTR_INIT, [](void*) {
    EXPECT_TRUE(ok(weft_cancel(weft_self())));
    churn();
  });
}

TEST_P(OneLockMalloc, PreemptedInsideFromASharedPool) {
  tick();
  weft_pool_t pool = nullptr;
  ASSERT_TRUE(ok(weft_pool_create(WEFT_POOL_FIFO, WEFT_ACCESS_MPMC, &pool)));
  std::vector<weft_sched_t> scheds(GetParam());
  std::vector<weft_worker_t> workers(GetParam());
  for (unsigned i = 0; i < GetParam(); ++i) {
    ASSERT_TRUE(ok(weft_sched_create(WEFT_SCHED_BASIC, 1, &pool, &scheds[i])));
    ASSERT_TRUE(ok(weft_worker_create(scheds[i], &workers[i])));
  }
  weft_unit_attr_t attr = WEFT_UNIT_ATTR_INIT;
  attr.pool = pool;
  churn_in_ults(attr);
  for (unsigned i = 0; i < GetParam(); ++i) {
    EXPECT_TRUE(ok(weft_worker_free(&workers[i])));
    EXPECT_TRUE(ok(weft_sched_free(&scheds[i])));
  }
  EXPECT_TRUE(ok(weft_pool_free(&pool)));
}

}  // namespace
