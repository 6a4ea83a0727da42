#include "pool/pool.hpp"

#include "klt/registry.hpp"

namespace weft::rt {
namespace {

constinit Registry<Pool> pools;

}  // namespace

Pool::Pool(weft_pool_kind_t kind, weft_access_t access, bool builtin) noexcept
    : kind(kind), access(access), builtin(builtin), id(next_id()) {
  pools.add(this);
}

Pool::~Pool() { pools.remove(this); }

void pools_forget_units() noexcept {
  pools.for_each([](Pool* pool) {
    for (auto& word : pool->consumers) word.store(0, std::memory_order_relaxed);
    pool->sleepers.store(0, std::memory_order_relaxed);
    pool->forget_units();
  });
}

}  // namespace weft::rt
