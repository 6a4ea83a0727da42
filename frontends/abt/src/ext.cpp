// ext.cpp: what Argobots does not have (weft/abt_ext.h).
#include <cmath>
#include <memory>
#include <new>

#include "eventual.hpp"
#include "handles.hpp"
#include "thread_attr.hpp"
#include "weft/abt_ext.h"

namespace weft::abt {
namespace {

int wait_any(size_t n, const ABT_eventual* eventuals, uint64_t deadline, size_t* index) noexcept {
  if (n == 0 || eventuals == nullptr) return ABT_ERR_INV_ARG;
  for (size_t i = 0; i < n; ++i) {
    if (is_null(eventuals[i])) return ABT_ERR_INV_EVENTUAL;
  }
  if (is_refused()) return ABT_ERR_EVENTUAL;
  constexpr size_t kInFrame = 16;
  weft_waitable_t in_frame[kInFrame];
  std::unique_ptr<weft_waitable_t[]> elsewhere;
  if (n > kInFrame) elsewhere.reset(new (std::nothrow) weft_waitable_t[n]);
  weft_waitable_t* objects = n > kInFrame ? elsewhere.get() : in_frame;
  if (objects == nullptr) return ABT_ERR_MEM;
  for (size_t i = 0; i < n; ++i) objects[i] = {WEFT_WAITABLE_EVENT, &eventual_of(eventuals[i]).event};
  switch (wait_anywhere([&] { return weft_wait_any_until(n, objects, deadline, index); })) {
    case WEFT_OK: return ABT_SUCCESS;
    case WEFT_ERR_TIMEOUT: return ABT_ERR_COND_TIMEDOUT;
    default: return ABT_ERR_MEM;
  }
}

}  // namespace
}  // namespace weft::abt

using namespace weft::abt;

int ABTX_eventual_wait_any(size_t num, const ABT_eventual* eventuals, size_t* index) {
  return wait_any(num, eventuals, WEFT_NEVER, index);
}

int ABTX_eventual_timedwait_any(size_t num, const ABT_eventual* eventuals, const struct timespec* abstime,
                                size_t* index) {
  return wait_any(num, eventuals, deadline_of(*abstime), index);
}

int ABTX_sleep(double secs) {
  if (std::isnan(secs)) return ABT_ERR_INV_ARG;
  constexpr double kLongest = 1e10;  // seconds: three centuries; fits as nanoseconds
  const double clipped = secs <= 0 ? 0 : secs < kLongest ? secs : kLongest;
  wait_anywhere([&] { return weft_sleep(static_cast<uint64_t>(clipped * 1e9)); });
  return ABT_SUCCESS;
}

static_assert(static_cast<int>(ABTX_PREEMPTION_KLT_SWITCHING) == WEFT_PREEMPTION_KLT_SWITCHING &&
              static_cast<int>(ABTX_PREEMPTION_NONE) == WEFT_PREEMPTION_NONE);

int ABTX_thread_attr_set_preemption(ABT_thread_attr attr, ABTX_preemption_kind kind) {
  if (is_null(attr)) return ABT_ERR_INV_THREAD_ATTR;
  if (static_cast<unsigned>(kind) > ABTX_PREEMPTION_KLT_SWITCHING) return ABT_ERR_INV_ARG;
  attr->preemption = static_cast<weft_preemption_t>(kind);
  return ABT_SUCCESS;
}

int ABTX_pool_set_preemption(ABT_pool pool, ABTX_preemption_kind kind) {
  if (is_null(pool)) return ABT_ERR_INV_POOL;
  if (static_cast<unsigned>(kind) > ABTX_PREEMPTION_KLT_SWITCHING) return ABT_ERR_INV_ARG;
  weft::front::pool_set_preemption(core(pool), static_cast<weft_preemption_t>(kind));
  return ABT_SUCCESS;
}

static_assert(static_cast<int>(ABTX_BLOCKING_AWARE) == WEFT_BLOCKING_AWARE &&
              static_cast<int>(ABTX_BLOCKING_UNAWARE) == WEFT_BLOCKING_UNAWARE);

int ABTX_thread_attr_set_blocking(ABT_thread_attr attr, ABTX_blocking_kind kind) {
  if (is_null(attr)) return ABT_ERR_INV_THREAD_ATTR;
  if (static_cast<unsigned>(kind) > ABTX_BLOCKING_AWARE) return ABT_ERR_INV_ARG;
  attr->blocking = static_cast<weft_blocking_t>(kind);
  return ABT_SUCCESS;
}

int ABTX_pool_set_blocking(ABT_pool pool, ABTX_blocking_kind kind) {
  if (is_null(pool)) return ABT_ERR_INV_POOL;
  if (static_cast<unsigned>(kind) > ABTX_BLOCKING_AWARE) return ABT_ERR_INV_ARG;
  weft::front::pool_set_blocking(core(pool), static_cast<weft_blocking_t>(kind));
  return ABT_SUCCESS;
}

int ABTX_dump(int fd) {
  switch (weft_dump(fd)) {
    case WEFT_OK: return ABT_SUCCESS;
    case WEFT_ERR_UNINITIALIZED: return ABT_ERR_UNINITIALIZED;
    default: return ABT_ERR_OTHER;
  }
}
