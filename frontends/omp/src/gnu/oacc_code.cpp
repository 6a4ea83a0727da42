// oacc_code.cpp: what code compiled with -fopenacc calls. Compute regions run on the host, at once; data is where it is.
#include <cstddef>

#include "export.hpp"

using Function = void (*)(void*);

WEFT_OMP_API void GOACC_parallel_keyed(int, Function fn, size_t, void** addresses, size_t*, unsigned short*, ...) {
  fn(addresses);
}
WEFT_OMP_GNU(GOACC_parallel_keyed, "GOACC_2.0.1")

// Of gcc 5.
WEFT_OMP_API void GOACC_parallel(int, Function fn, size_t, void** addresses, size_t*, unsigned short*, int, int, int, int, int,
                                 ...) {
  fn(addresses);
}
WEFT_OMP_GNU(GOACC_parallel, "GOACC_2.0")

WEFT_OMP_API void GOACC_data_start(int, size_t, void**, size_t*, unsigned short*) {}
WEFT_OMP_GNU(GOACC_data_start, "GOACC_2.0")
WEFT_OMP_API void GOACC_data_end() {}
WEFT_OMP_GNU(GOACC_data_end, "GOACC_2.0")
WEFT_OMP_API void GOACC_enter_exit_data(int, size_t, void**, size_t*, unsigned short*, int, int, ...) {}
WEFT_OMP_GNU(GOACC_enter_exit_data, "GOACC_2.0")
WEFT_OMP_API void GOACC_enter_data(int, size_t, void**, size_t*, unsigned short*, int, int, ...) {}
WEFT_OMP_GNU(GOACC_enter_data, "GOACC_2.0.2")
WEFT_OMP_API void GOACC_exit_data(int, size_t, void**, size_t*, unsigned short*, int, int, ...) {}
WEFT_OMP_GNU(GOACC_exit_data, "GOACC_2.0.2")
WEFT_OMP_API void GOACC_update(int, size_t, void**, size_t*, unsigned short*, int, int, ...) {}
WEFT_OMP_GNU(GOACC_update, "GOACC_2.0")
WEFT_OMP_API void GOACC_declare(int, size_t, void**, size_t*, unsigned short*) {}
WEFT_OMP_GNU(GOACC_declare, "GOACC_2.0.1")
WEFT_OMP_API void GOACC_wait(int, int, ...) {}
WEFT_OMP_GNU(GOACC_wait, "GOACC_2.0")
WEFT_OMP_API int GOACC_get_num_threads() { return 1; }
WEFT_OMP_GNU(GOACC_get_num_threads, "GOACC_2.0")
WEFT_OMP_API int GOACC_get_thread_num() { return 0; }
WEFT_OMP_GNU(GOACC_get_thread_num, "GOACC_2.0")
