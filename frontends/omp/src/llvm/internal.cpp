// internal.cpp: what libomp.so exports of its own inside, for its debuggers, tests and profilers.
//
// What can be meant here behaves. The rest works on libomp's own structures, of which there are none here, so that nobody can
// have one to call it with: it says so and ends the program.
#include <sched.h>

#include <cstdio>
#include <cstdlib>

#include "llvm/ident.hpp"
#include "llvm/microtask.hpp"
#include "weft/weft.h"

using namespace weft::omp::llvm;

WEFT_OMP_API int __kmp_invoke_microtask(Microtask fn, int gtid, int number, int argc, void** argv, void** exit_frame) {
  weft_omp_microtask(fn, &gtid, &number, argc, argv, exit_frame);
  return 1;
}

// Waits until `enough(*word, value)`.
WEFT_OMP_API uint32_t __kmp_wait_4(volatile uint32_t* word, uint32_t value, uint32_t (*enough)(uint32_t, uint32_t), void*) {
  uint32_t seen = *word;
  while (enough(seen, value) == 0) {
    weft_self() != nullptr ? weft_yield() : static_cast<void>(sched_yield());
    seen = *word;
  }
  return seen;
}

// Instrumentation, statistics and the monitor thread, which are not there.
WEFT_OMP_API int __kmp_itt_init_ittlib(const char*, int) { return 0; }
WEFT_OMP_API void __kmp_itt_fini_ittlib() {}
WEFT_OMP_API void __kmp_reset_stats() {}
WEFT_OMP_API void __kmp_reap_monitor(void*) {}

// What a library for devices sets, to be told of the tasks that wait for it. Without devices it is not loaded.
extern "C" {
__attribute__((visibility("default"))) void (*kmp_target_sync_cb)() = nullptr;
__attribute__((visibility("default"))) void (*kmp_target_task_completed_cb)() = nullptr;
}

#define WEFT_OMP_NOT_HERE(name)                                                                \
  WEFT_OMP_API void name() {                                                                   \
    std::fputs("Weft: " #name "() is internal to libomp, and has no meaning here\n", stderr);  \
    std::abort();                                                                              \
  }
WEFT_OMP_NOT_HERE(__kmp_fork_call)
WEFT_OMP_NOT_HERE(__kmp_reap_worker)
WEFT_OMP_NOT_HERE(__kmp_release_64)
WEFT_OMP_NOT_HERE(__kmp_wait_64)
WEFT_OMP_NOT_HERE(__kmpc_invoke_task_func)
WEFT_OMP_NOT_HERE(__kmp_acquire_drdpa_lock)
WEFT_OMP_NOT_HERE(__kmp_acquire_nested_drdpa_lock)
WEFT_OMP_NOT_HERE(__kmp_acquire_nested_queuing_lock)
WEFT_OMP_NOT_HERE(__kmp_acquire_nested_tas_lock)
WEFT_OMP_NOT_HERE(__kmp_acquire_nested_ticket_lock)
WEFT_OMP_NOT_HERE(__kmp_acquire_queuing_lock)
WEFT_OMP_NOT_HERE(__kmp_acquire_tas_lock)
WEFT_OMP_NOT_HERE(__kmp_acquire_ticket_lock)

// Variables that debuggers look at: no debugger is known to the runtime, no thread is idle in libomp's pool.
#define WEFT_OMP_DATA extern "C" __attribute__((visibility("default")))
WEFT_OMP_DATA int __kmp_debugging;
int __kmp_debugging = 0;
WEFT_OMP_DATA int __kmp_omp_debug_struct_info;
int __kmp_omp_debug_struct_info = 0;
WEFT_OMP_DATA void* __kmp_thread_pool;
void* __kmp_thread_pool = nullptr;
WEFT_OMP_DATA int kmp_a_debug, kmp_b_debug, kmp_c_debug, kmp_d_debug, kmp_e_debug, kmp_f_debug, kmp_diag;
int kmp_a_debug, kmp_b_debug, kmp_c_debug, kmp_d_debug, kmp_e_debug, kmp_f_debug, kmp_diag;

struct MutexKind {
  const char* name;
  int id;
};
WEFT_OMP_DATA MutexKind kmp_mutex_impl_info[4];
MutexKind kmp_mutex_impl_info[4] = {{"kmp_mutex_impl_none", 0},
                                    {"kmp_mutex_impl_spin", 1},
                                    {"kmp_mutex_impl_queuing", 2},
                                    {"kmp_mutex_impl_speculative", 3}};

// An allocator of Intel's: the largest memory.
WEFT_OMP_DATA void* const kmp_max_mem_alloc;
void* const kmp_max_mem_alloc = reinterpret_cast<void*>(1024);

// libomptarget's part of the interface for tools: it would tell of devices.
WEFT_OMP_API void ompt_libomp_connect(void*) {}
