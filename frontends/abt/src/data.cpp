// data.cpp: the variables that stand for keys of configurations. Programs pass them by value, so what is in
// them belongs to the binary interface.
#include "abt.h"

ABT_sched_config_var ABT_sched_config_var_end = {-1, ABT_SCHED_CONFIG_INT};
ABT_sched_config_var ABT_sched_config_access = {-2, ABT_SCHED_CONFIG_INT};
ABT_sched_config_var ABT_sched_config_automatic = {-3, ABT_SCHED_CONFIG_INT};
ABT_sched_config_var ABT_sched_basic_freq = {-4, ABT_SCHED_CONFIG_INT};

const ABT_pool_config_var ABT_pool_config_automatic = {-2, ABT_POOL_CONFIG_INT};
