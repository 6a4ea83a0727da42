// user_pool.hpp: a table of the user's functions as a pool.
#pragma once

#include "pool/pool.hpp"

namespace weft::rt {

struct UserPool final : Pool {
  UserPool(const weft_pool_ops_t& ops, void* self)
      : Pool(WEFT_POOL_FIFO, WEFT_ACCESS_MPMC, false), ops(ops), self(self) {}
  ~UserPool() override;

  void push(Worker* worker, Unit* unit) override;
  Unit* pop(Worker* worker) override;
  size_t size() override;

  // constant
  const weft_pool_ops_t ops;
  void* const self;
};

}  // namespace weft::rt
