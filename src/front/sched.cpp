// sched.cpp: schedulers, beyond weft.h.
#include <sched.h>

#include "api/handles.hpp"
#include "front/front.hpp"
#include "klt/guard.hpp"
#include "sched/sched.hpp"

namespace weft::front {

using namespace rt;

namespace {

int give_out(Sched* made, weft_sched_t* sched) noexcept {
  if (made == nullptr) return WEFT_ERR_NO_MEMORY;
  made->patient = true;
  *sched = to_handle(made);
  return WEFT_OK;
}

Pool* const* to_pools(const weft_pool_t* pools) noexcept { return reinterpret_cast<Pool* const*>(pools); }

}  // namespace

int sched_create(weft_sched_kind_t kind, size_t n, const weft_pool_t* pools, weft_sched_t* sched) {
  return give_out(rt::sched_create(kind, n, to_pools(pools)), sched);
}

int sched_create_user(const weft_sched_ops_t* ops, void* arg, size_t n, const weft_pool_t* pools,
                      weft_sched_t* sched) {
  return give_out(rt::sched_create_user(*ops, arg, n, to_pools(pools)), sched);
}

void sched_renew(weft_sched_t sched) {
  from_handle(sched)->finish.store(false, std::memory_order_relaxed);
  from_handle(sched)->exit.store(false, std::memory_order_relaxed);
}

bool sched_should_stop(weft_sched_t sched) { return rt::sched_should_stop(from_handle(sched)); }
bool sched_done(weft_sched_t sched) { return rt::sched_done(from_handle(sched), WaitsFor::kItsOwn); }
void sched_hand_on_others(weft_sched_t sched, weft_pool_t to) { rt::sched_hand_on(from_handle(sched), from_handle(to)); }
void sched_stacked_main(void* sched) { stacked_main(sched); }

bool sched_claim_stacked(weft_sched_t handle, bool on) {
  Sched* sched = from_handle(handle);
  bool before = !on;
  return sched->stacked.compare_exchange_strong(before, on, std::memory_order_acq_rel);
}

weft_unit_t sched_unit(weft_sched_t sched) {
  return to_handle(from_handle(sched)->unit.load(std::memory_order_relaxed));
}

void sched_free(weft_sched_t handle) {
  Sched* sched = from_handle(handle);
  while (sched->telling.load(std::memory_order_acquire) != 0) sched_yield();
  sched->implicit ? sched_end_implicit(sched) : sched_destroy(sched);
}

}  // namespace weft::front
