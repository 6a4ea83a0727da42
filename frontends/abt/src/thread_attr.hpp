#pragma once

#include <cstddef>

#include "abt.h"
#include "weft/weft.h"

struct ABT_thread_attr_opaque {
  void* stack = nullptr;  // the program's
  size_t stack_size = 0;  // 0: default
  bool no_stack = false;  // of the primary ULT: none of its own
  bool migratable = true;
  void (*moved)(ABT_thread thread, void* arg) = nullptr;
  void* moved_arg = nullptr;
  weft_preemption_t preemption = WEFT_PREEMPTION_DEFAULT;
  weft_blocking_t blocking = WEFT_BLOCKING_DEFAULT;
};
