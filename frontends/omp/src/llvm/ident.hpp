// ident.hpp: what code compiled by clang, flang and Intel's compilers hands to its OpenMP runtime: the types of the ABI.
//
// Laid out by those compilers: nothing here may move.
#pragma once

#include <cstddef>
#include <cstdint>

#include "export.hpp"

namespace weft::omp::llvm {

// Where in the program a call is, and of what kind. Always a pointer, which may be null (MKL's is).
struct Ident {
  int32_t reserved_1;
  int32_t flags;
  int32_t reserved_2;
  int32_t reserved_3;
  const char* source;  // ";file;function;line;column;;"
};
static_assert(sizeof(Ident) == 24 && offsetof(Ident, source) == 16);
inline constexpr int32_t kIdentAtomicReduce = 0x10;  // the compiler has also made code that combines with atomics
inline constexpr int32_t kIdentExplicitBarrier = 0x20;
inline constexpr int32_t kIdentImplicitBarrier = 0x40;
inline constexpr int32_t kIdentSections = 0x400;     // a loop that is sections

// An outlined region; a0… are as many pointers as the call has said.
using Microtask = void (*)(int32_t* gtid, int32_t* number, ...);

// A critical section's, or a reduction's: zero at first.
using CriticalName = int32_t[8];

struct KmpTask;
using TaskEntry = int32_t (*)(int32_t gtid, KmpTask* task);
union KmpData {
  int32_t priority;
  TaskEntry destructors;
};
// The compiler's own members follow: private variables; of a taskloop the bounds.
struct KmpTask {
  void* shareds;
  TaskEntry entry;
  int32_t part;   // of an untied task: where it goes on
  KmpData data1;  // destructors, if the flag is set
  KmpData data2;  // priority, if the flag is set
};
static_assert(sizeof(KmpTask) == 40 && offsetof(KmpTask, part) == 16 && offsetof(KmpTask, data1) == 24);

namespace kmp_task_flag {
inline constexpr int32_t kTied = 1;
inline constexpr int32_t kFinal = 2;
inline constexpr int32_t kDestructors = 8;
inline constexpr int32_t kProxy = 0x10;
inline constexpr int32_t kPriority = 0x20;
inline constexpr int32_t kDetachable = 0x40;
}  // namespace kmp_task_flag

struct KmpDepend {
  intptr_t base;
  size_t bytes;
  uint8_t flags;
};
static_assert(sizeof(KmpDepend) == 24 && offsetof(KmpDepend, flags) == 16);
namespace kmp_depend_flag {
inline constexpr uint8_t kIn = 1;
inline constexpr uint8_t kOut = 2;
inline constexpr uint8_t kMutexInOutSet = 4;
inline constexpr uint8_t kInOutSet = 8;
inline constexpr uint8_t kAll = 0x80;  // omp_all_memory
}  // namespace kmp_depend_flag

// One reduction variable of tasks.
struct KmpTaskReduction {
  void* shared;    // where the result goes
  void* original;  // what `init` looks at
  size_t bytes;
  void* init;  // void (*)(void* mine, void* original); null: zeroes
  void* fini;  // void (*)(void* mine); may be null
  void* combine;  // void (*)(void* into, void* from)
  uint32_t flags;
};
static_assert(sizeof(KmpTaskReduction) == 56);
// The same of older compilers.
struct KmpTaskReductionOld {
  void* shared;
  size_t bytes;
  void* init;  // void (*)(void* mine)
  void* fini;
  void* combine;
  uint32_t flags;
};
static_assert(sizeof(KmpTaskReductionOld) == 48);

// A loop of a doacross nest.
struct KmpDim {
  int64_t first;
  int64_t last;
  int64_t step;
};

}  // namespace weft::omp::llvm
