// make_task.hpp: explicit tasks of gcc's code: a function, and a copy of its arguments in the task.
#pragma once

#include <cstddef>

#include "task.hpp"

namespace weft::omp::gnu {

using Function = void (*)(void*);
using Copy = void (*)(void* to, void* from);

// Flags of GOMP_task() and GOMP_taskloop().
enum : unsigned {
  kFlagUntied = 1,
  kFlagFinal = 2,
  kFlagMergeable = 4,
  kFlagDepend = 8,
  kFlagPriority = 16,
  kFlagUp = 256,
  kFlagGrainsize = 512,
  kFlagIf = 1024,
  kFlagNogroup = 2048,
  kFlagReduction = 4096,
  kFlagDetach = 8192,
  kFlagStrict = 16384,
};

struct Arguments {
  void* data;
  Copy copy;  // null: bytes
  size_t size;
  size_t align;
};

inline uint16_t core_flags(unsigned flags) {
  static_assert(task_flag::kUntied == kFlagUntied << 1 && task_flag::kFinal == kFlagFinal << 1);
  static_assert(task_flag::kMergeable == kFlagMergeable << 1 && task_flag::kDetachable == kFlagDetach >> 8);
  return static_cast<uint16_t>((flags & (kFlagUntied | kFlagFinal | kFlagMergeable)) << 1 | (flags & kFlagDetach) >> 8);
}

TaskWish make_wish(Member& member, unsigned flags, int priority);
// Makes a task, not started, that will call fn with a copy of the arguments, which is made now. Returns it, and its copy.
Task* make_task(Member& member, const TaskWish& wish, Function fn, const Arguments& arguments, void** own);
// The same without the copy: it is for the caller to make.
Task* make_task_uncopied(Member& member, const TaskWish& wish, Function fn, size_t size, size_t align, void** own);

}  // namespace weft::omp::gnu
