// offload.cpp: registration of code for devices, and what libgomp offers to its plugins for devices. We load none.
#include <cstdarg>
#include <cstdlib>
#include <cstring>

#include "export.hpp"
#include "gnu/message.hpp"

using namespace weft::omp;

namespace {

void* or_fail(void* memory, size_t bytes) {
  if (!memory && bytes) gnu::fail("Out of memory allocating %zu bytes", bytes);
  return memory;
}

[[noreturn]] void no_plugins(const char* function) { gnu::fail("%s: there are no plugins for devices here", function); }

}  // namespace

// Constructors of programs with code for devices call these: the code for the host is used.
WEFT_OMP_API void GOMP_offload_register(const void*, int, const void*) {}
WEFT_OMP_GNU(GOMP_offload_register, "GOMP_4.0.1")
WEFT_OMP_API void GOMP_offload_register_ver(unsigned, const void*, int, const void*) {}
WEFT_OMP_GNU(GOMP_offload_register_ver, "GOMP_4.5")
WEFT_OMP_API void GOMP_offload_unregister(const void*, int, const void*) {}
WEFT_OMP_GNU(GOMP_offload_unregister, "GOMP_4.0.1")
WEFT_OMP_API void GOMP_offload_unregister_ver(unsigned, const void*, int, const void*) {}
WEFT_OMP_GNU(GOMP_offload_unregister_ver, "GOMP_4.5")

WEFT_OMP_API void* GOMP_PLUGIN_malloc(size_t bytes) { return or_fail(malloc(bytes), bytes); }
WEFT_OMP_GNU(GOMP_PLUGIN_malloc, "GOMP_PLUGIN_1.0")

WEFT_OMP_API void* GOMP_PLUGIN_malloc_cleared(size_t bytes) { return or_fail(calloc(1, bytes), bytes); }
WEFT_OMP_GNU(GOMP_PLUGIN_malloc_cleared, "GOMP_PLUGIN_1.0")

WEFT_OMP_API void* GOMP_PLUGIN_realloc(void* memory, size_t bytes) { return or_fail(realloc(memory, bytes), bytes); }
WEFT_OMP_GNU(GOMP_PLUGIN_realloc, "GOMP_PLUGIN_1.0")

WEFT_OMP_API void GOMP_PLUGIN_debug(int, const char*, ...) {}
WEFT_OMP_GNU(GOMP_PLUGIN_debug, "GOMP_PLUGIN_1.0")

WEFT_OMP_API void GOMP_PLUGIN_error(const char* format, ...) {
  va_list list;
  va_start(list, format);
  gnu::say_list(format, list);
  va_end(list);
}
WEFT_OMP_GNU(GOMP_PLUGIN_error, "GOMP_PLUGIN_1.0")

WEFT_OMP_API void GOMP_PLUGIN_fatal(const char* format, ...) {
  va_list list;
  va_start(list, format);
  gnu::say_list(format, list);
  va_end(list);
  exit(EXIT_FAILURE);
}
WEFT_OMP_GNU(GOMP_PLUGIN_fatal, "GOMP_PLUGIN_1.0")

WEFT_OMP_API void GOMP_PLUGIN_async_unmap_vars(void*, int) { no_plugins("GOMP_PLUGIN_async_unmap_vars"); }
WEFT_OMP_GNU(GOMP_PLUGIN_async_unmap_vars, "GOMP_PLUGIN_1.0")

WEFT_OMP_API void* GOMP_PLUGIN_acc_thread() { return nullptr; }
WEFT_OMP_GNU(GOMP_PLUGIN_acc_thread, "GOMP_PLUGIN_1.0")

WEFT_OMP_API void* GOMP_PLUGIN_goacc_thread() { return nullptr; }
WEFT_OMP_GNU(GOMP_PLUGIN_goacc_thread, "GOMP_PLUGIN_1.3")

WEFT_OMP_API int GOMP_PLUGIN_acc_default_dim(unsigned) { return 0; }
WEFT_OMP_GNU(GOMP_PLUGIN_acc_default_dim, "GOMP_PLUGIN_1.2")

WEFT_OMP_API void GOMP_PLUGIN_goacc_profiling_dispatch(void*, void*, void*) {}
WEFT_OMP_GNU(GOMP_PLUGIN_goacc_profiling_dispatch, "GOMP_PLUGIN_1.3")

WEFT_OMP_API void GOMP_PLUGIN_target_task_completion(void*) { no_plugins("GOMP_PLUGIN_target_task_completion"); }
WEFT_OMP_GNU(GOMP_PLUGIN_target_task_completion, "GOMP_PLUGIN_1.1")

WEFT_OMP_API void GOMP_PLUGIN_target_rev(void) { no_plugins("GOMP_PLUGIN_target_rev"); }
WEFT_OMP_GNU(GOMP_PLUGIN_target_rev, "GOMP_PLUGIN_1.4")
