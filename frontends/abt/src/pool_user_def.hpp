#pragma once

#include "pool.hpp"

namespace weft::abt {

// Of either kind: what ABT_pool_user_def_create() has made, or a program's own struct ABT_pool_def.
PoolDef read_def(ABT_pool_user_def def) noexcept;

}  // namespace weft::abt
