// foreign_sched.hpp: a worker whose user-defined scheduler takes from a pool that is not its own, as those that steal do: whoever
// pushes there knows nothing of the worker.
#pragma once

#include <sched.h>

#include "support/runtime_fixture.hpp"

namespace weft_test {

class ForeignWorker {
 public:
  ForeignWorker() {
    EXPECT_TRUE(ok(weft_pool_create(WEFT_POOL_FIFO, WEFT_ACCESS_MPMC, &own_)));
    EXPECT_TRUE(ok(weft_pool_create(WEFT_POOL_FIFO, WEFT_ACCESS_MPMC, &other_)));
    weft_sched_ops_t ops{};
    ops.run = run;
    EXPECT_TRUE(ok(weft_sched_create_user(&ops, this, 1, &own_, &sched_)));
    EXPECT_TRUE(ok(weft_worker_create(sched_, &worker_)));
  }
  ForeignWorker(const ForeignWorker&) = delete;
  ForeignWorker& operator=(const ForeignWorker&) = delete;
  ~ForeignWorker() {
    EXPECT_TRUE(ok(weft_worker_free(&worker_)));
    EXPECT_TRUE(ok(weft_sched_free(&sched_)));
    EXPECT_TRUE(ok(weft_pool_free(&other_)));
    EXPECT_TRUE(ok(weft_pool_free(&own_)));
  }
  // It serves this one, too.
  weft_pool_t pool() const { return other_; }

 private:
  static void run(weft_sched_t sched, void* self) {
    const auto* mine = static_cast<ForeignWorker*>(self);
    while (!weft_sched_should_stop(sched)) {
      weft_unit_t unit = weft_pool_pop(mine->own_);
      if (unit == nullptr) unit = weft_pool_pop(mine->other_);
      if (unit != nullptr) {
        EXPECT_TRUE(ok(weft_sched_run(sched, unit)));
      } else {
        sched_yield();
      }
    }
  }

  weft_pool_t own_ = nullptr, other_ = nullptr;
  weft_sched_t sched_ = nullptr;
  weft_worker_t worker_ = nullptr;
};

}  // namespace weft_test
