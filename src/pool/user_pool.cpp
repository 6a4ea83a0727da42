// user_pool.cpp: what the user's functions may do is told in klt/callback_scope.hpp.
#include "pool/user_pool.hpp"

#include <new>

#include "klt/callback_scope.hpp"

namespace weft::rt {

UserPool::~UserPool() {
  if (ops.free != nullptr) ops.free(self);
}

void UserPool::push(Worker*, Unit* unit) {
  CallbackScope scope;
  ops.push(self, to_handle(unit));
}

Unit* UserPool::pop(Worker*) {
  CallbackScope scope;
  for (;;) {
    Unit* unit = from_handle(ops.pop(self));
    // In a forked child it may still have the parent's units.
    if (unit == nullptr || unit_state(unit) != UnitState::kForked) return unit;
  }
}

size_t UserPool::size() {
  CallbackScope scope;
  return ops.size(self);
}

Pool* pool_create_user(const weft_pool_ops_t& ops, void* arg) noexcept {
  void* self = ops.create != nullptr ? ops.create(arg) : arg;
  auto* pool = new (std::nothrow) UserPool(ops, self);
  if (pool == nullptr && ops.free != nullptr) ops.free(self);
  return pool;
}

}  // namespace weft::rt
