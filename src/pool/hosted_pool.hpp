// hosted_pool.hpp: a FIFO pool that lives in a worker's lane while that worker alone serves it.
//
// A program may make a pool before there is a worker for it, put units into it, and then make it the first pool of a
// worker's main scheduler. From then on the worker's lane is where its units wait, so that whoever runs
// there pays what a lane costs and not what a lock does. It remains the pool that it was for everybody:
// units have it as their home, and whoever pushes or pops elsewhere comes through here. `lane_owner`
// says whose lane it is; null: its units are in a list of its own.
//
// Both ways are taken by who has the worker's private part, with the list's lock, which foreign pushers take too, as that of
// `lane_owner`: so no unit gets where the others have just left. It lies apart from what poppers read.
#pragma once

#include "pool/lane.hpp"
#include "pool/list_pool.hpp"

namespace weft::rt {

class HostedPool final : public Pool {
 public:
  explicit HostedPool(weft_access_t access)
      : Pool(WEFT_POOL_FIFO, access, true), list_(WEFT_POOL_FIFO, access) {}

  void push(Worker* worker, Unit* unit) override;
  void push_all(Worker* worker, UnitList& units) override;
  Unit* pop(Worker* worker) override;
  size_t size() override;
  bool try_claim(Worker* worker, Unit* unit) override;
  bool try_remove(Worker* worker, Unit* unit) override;
  void for_each(void (*f)(weft_unit_t, void*), void* arg) override;
  void forget_units() noexcept override;
  void list_stopped(Worker* owner) noexcept override;
  bool settle(Worker* worker) noexcept override;
  void unsettle(Worker* worker) noexcept override;

 private:
  Lane* host() const noexcept;

  SharedListPool<FifoOrder> list_;
};

}  // namespace weft::rt
