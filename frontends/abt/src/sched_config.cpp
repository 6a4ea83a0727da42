// sched_config.cpp: ABT_sched_config_*.
#include "sched_config.hpp"

#include <cstdarg>
#include <new>

#include "config.hpp"
#include "handles.hpp"
#include "runtime.hpp"

struct ABT_sched_config_opaque {
  weft::abt::Config values;
};

namespace weft::abt {

bool config_automatic(ABT_sched_config config, bool otherwise) noexcept {
  if (is_null(config)) return otherwise;
  return config->values.integer(ABT_sched_config_automatic.idx, otherwise ? 1 : 0) != 0;
}

namespace {

// (ABT_sched_config_var, value) … ABT_sched_config_var_end
int read_list(Config& values, va_list list) {
  for (;;) {
    const ABT_sched_config_var var = va_arg(list, ABT_sched_config_var);
    if (var.idx == ABT_sched_config_var_end.idx) return ABT_SUCCESS;
    switch (var.type) {
      case ABT_SCHED_CONFIG_INT: {
        const int value = va_arg(list, int);
        values.set(var.idx, ValueType::kInt, &value);
        break;
      }
      case ABT_SCHED_CONFIG_DOUBLE: {
        const double value = va_arg(list, double);
        values.set(var.idx, ValueType::kDouble, &value);
        break;
      }
      case ABT_SCHED_CONFIG_PTR: {
        void* const value = va_arg(list, void*);
        values.set(var.idx, ValueType::kPointer, &value);
        break;
      }
      default: return ABT_ERR_INV_ARG;
    }
  }
}

}  // namespace
}  // namespace weft::abt

using namespace weft::abt;

extern "C" {

int ABT_sched_config_create(ABT_sched_config* config, ...) {
  if (!running()) return fail(config, ABT_SCHED_CONFIG_NULL, ABT_ERR_UNINITIALIZED);
  auto* made = new (std::nothrow) ABT_sched_config_opaque;
  if (made == nullptr) return fail(config, ABT_SCHED_CONFIG_NULL, ABT_ERR_MEM);
  va_list list;
  va_start(list, config);
  int error;
  try {
    error = read_list(made->values, list);
  } catch (const std::bad_alloc&) {
    error = ABT_ERR_MEM;
  }
  va_end(list);
  if (error != ABT_SUCCESS) {
    delete made;
    return fail(config, ABT_SCHED_CONFIG_NULL, error);
  }
  *config = made;
  return ABT_SUCCESS;
}

// Values 0 … num_vars - 1, each to where the next argument points; null: not wanted.
int ABT_sched_config_read(ABT_sched_config config, int num_vars, ...) {
  if (is_null(config)) return ABT_ERR_INV_SCHED_CONFIG;
  if (num_vars < 0) return ABT_ERR_INV_ARG;
  va_list list;
  va_start(list, num_vars);
  for (int i = 0; i < num_vars; ++i) {
    if (void* to = va_arg(list, void*)) static_cast<void>(config->values.get(i, nullptr, to));
  }
  va_end(list);
  return ABT_SUCCESS;
}

int ABT_sched_config_free(ABT_sched_config* config) {
  if (config == nullptr || is_null(*config)) return ABT_ERR_INV_SCHED_CONFIG;
  delete *config;
  *config = ABT_SCHED_CONFIG_NULL;
  return ABT_SUCCESS;
}

int ABT_sched_config_set(ABT_sched_config config, int idx, ABT_sched_config_type type, const void* val) try {
  if (is_null(config)) return ABT_ERR_INV_SCHED_CONFIG;
  if (!valid(static_cast<ValueType>(type))) return ABT_ERR_INV_ARG;
  config->values.set(idx, static_cast<ValueType>(type), val);
  return ABT_SUCCESS;
} catch (const std::bad_alloc&) {
  return ABT_ERR_MEM;
}

int ABT_sched_config_get(ABT_sched_config config, int idx, ABT_sched_config_type* p_type, void* val) {
  if (is_null(config)) return ABT_ERR_INV_SCHED_CONFIG;
  ValueType type;
  if (!config->values.get(idx, &type, val)) return ABT_ERR_INV_ARG;
  if (p_type != nullptr) *p_type = static_cast<ABT_sched_config_type>(type);
  return ABT_SUCCESS;
}

}  // extern "C"
