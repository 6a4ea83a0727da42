// user_pool.hpp: a user-defined pool: a locked stack, or queue, that counts.
#pragma once

#include <atomic>
#include <deque>
#include <functional>
#include <mutex>

#include "weft/weft.h"

namespace weft_test {

struct UserPool {
  std::mutex lock;
  std::deque<weft_unit_t> units;
  bool is_queue = false;
  std::atomic<int> pushes = 0;
  std::atomic<int> pops = 0;
  std::atomic<int> creates = 0;
  std::atomic<int> frees = 0;
  std::function<void()> on_push = [] {};

  static weft_pool_ops_t ops() {
    weft_pool_ops_t o{};
    o.create = [](void* arg) {
      ++static_cast<UserPool*>(arg)->creates;
      return arg;
    };
    o.free = [](void* self) { ++static_cast<UserPool*>(self)->frees; };
    o.push = [](void* self, weft_unit_t unit) {
      auto* p = static_cast<UserPool*>(self);
      p->on_push();
      const std::lock_guard guard(p->lock);
      ++p->pushes;
      p->units.push_back(unit);
    };
    o.pop = [](void* self) -> weft_unit_t {
      auto* p = static_cast<UserPool*>(self);
      const std::lock_guard guard(p->lock);
      if (p->units.empty()) {
        return nullptr;
      }
      ++p->pops;
      weft_unit_t unit = p->is_queue ? p->units.front() : p->units.back();
      p->is_queue ? p->units.pop_front() : p->units.pop_back();
      return unit;
    };
    o.size = [](void* self) {
      auto* p = static_cast<UserPool*>(self);
      const std::lock_guard guard(p->lock);
      return p->units.size();
    };
    return o;
  }
};

}  // namespace weft_test
