// pool_config.cpp: ABT_pool_config_*.
#include "pool_config.hpp"

#include <new>

#include "config.hpp"
#include "handles.hpp"
#include "runtime.hpp"

struct ABT_pool_config_opaque {
  weft::abt::Config values;
};

namespace weft::abt {

bool config_automatic(ABT_pool_config config, bool otherwise) noexcept {
  if (is_null(config)) return otherwise;
  return config->values.integer(ABT_pool_config_automatic.key, otherwise ? 1 : 0) != 0;
}

}  // namespace weft::abt

using namespace weft::abt;

extern "C" {

int ABT_pool_config_create(ABT_pool_config* config) {
  if (!running()) return fail(config, ABT_POOL_CONFIG_NULL, ABT_ERR_UNINITIALIZED);
  auto* made = new (std::nothrow) ABT_pool_config_opaque;
  if (made == nullptr) return fail(config, ABT_POOL_CONFIG_NULL, ABT_ERR_MEM);
  *config = made;
  return ABT_SUCCESS;
}

int ABT_pool_config_free(ABT_pool_config* config) {
  if (config == nullptr || is_null(*config)) return ABT_ERR_INV_POOL_CONFIG;
  delete *config;
  *config = ABT_POOL_CONFIG_NULL;
  return ABT_SUCCESS;
}

int ABT_pool_config_set(ABT_pool_config config, int key, ABT_pool_config_type type, const void* val) try {
  if (is_null(config)) return ABT_ERR_INV_POOL_CONFIG;
  if (!valid(static_cast<ValueType>(type))) return ABT_ERR_INV_ARG;
  config->values.set(key, static_cast<ValueType>(type), val);
  return ABT_SUCCESS;
} catch (const std::bad_alloc&) {
  return ABT_ERR_MEM;
}

int ABT_pool_config_get(ABT_pool_config config, int key, ABT_pool_config_type* p_type, void* val) {
  if (is_null(config)) return ABT_ERR_INV_POOL_CONFIG;
  ValueType type;
  if (!config->values.get(key, &type, val)) return ABT_ERR_INV_ARG;
  if (p_type != nullptr) *p_type = static_cast<ABT_pool_config_type>(type);
  return ABT_SUCCESS;
}

}  // extern "C"
