// omp.h: OpenMP's user interface, for gcc and clang.
//
// Programs need not be built with this file: their compiler's own does, the library knows both layouts. It is for programs that are
// built where the compiler's is missing, or by both compilers: locks are as large here as the larger of the two, so objects of
// both can share them.
#ifndef OMP_H
#define OMP_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
#define WEFT_OMP_NOTHROW noexcept
#define WEFT_OMP_AS_UINTPTR : uintptr_t
#define WEFT_OMP_DEFAULT(value) = value
extern "C" {
#else
#define WEFT_OMP_NOTHROW __attribute__((nothrow))
#define WEFT_OMP_AS_UINTPTR
#define WEFT_OMP_DEFAULT(value)
#endif

// ---- locks

typedef struct omp_lock_t { uint64_t weft_word; } omp_lock_t;             // gcc: 4 bytes, clang: 8
typedef struct omp_nest_lock_t { uint64_t weft_words[2]; } omp_nest_lock_t;  // gcc: 16 bytes, clang: 8

typedef enum omp_sync_hint_t {
  omp_sync_hint_none = 0,
  omp_sync_hint_uncontended = 1,
  omp_sync_hint_contended = 2,
  omp_sync_hint_nonspeculative = 4,
  omp_sync_hint_speculative = 8,
  omp_lock_hint_none = omp_sync_hint_none,
  omp_lock_hint_uncontended = omp_sync_hint_uncontended,
  omp_lock_hint_contended = omp_sync_hint_contended,
  omp_lock_hint_nonspeculative = omp_sync_hint_nonspeculative,
  omp_lock_hint_speculative = omp_sync_hint_speculative,
} omp_sync_hint_t;
typedef omp_sync_hint_t omp_lock_hint_t;

extern void omp_init_lock(omp_lock_t*) WEFT_OMP_NOTHROW;
extern void omp_init_lock_with_hint(omp_lock_t*, omp_sync_hint_t) WEFT_OMP_NOTHROW;
extern void omp_destroy_lock(omp_lock_t*) WEFT_OMP_NOTHROW;
extern void omp_set_lock(omp_lock_t*) WEFT_OMP_NOTHROW;
extern void omp_unset_lock(omp_lock_t*) WEFT_OMP_NOTHROW;
extern int omp_test_lock(omp_lock_t*) WEFT_OMP_NOTHROW;
extern void omp_init_nest_lock(omp_nest_lock_t*) WEFT_OMP_NOTHROW;
extern void omp_init_nest_lock_with_hint(omp_nest_lock_t*, omp_sync_hint_t) WEFT_OMP_NOTHROW;
extern void omp_destroy_nest_lock(omp_nest_lock_t*) WEFT_OMP_NOTHROW;
extern void omp_set_nest_lock(omp_nest_lock_t*) WEFT_OMP_NOTHROW;
extern void omp_unset_nest_lock(omp_nest_lock_t*) WEFT_OMP_NOTHROW;
extern int omp_test_nest_lock(omp_nest_lock_t*) WEFT_OMP_NOTHROW;

// ---- regions and their threads

extern int omp_get_thread_num(void) WEFT_OMP_NOTHROW;
extern int omp_get_num_threads(void) WEFT_OMP_NOTHROW;
extern int omp_get_max_threads(void) WEFT_OMP_NOTHROW;
extern void omp_set_num_threads(int) WEFT_OMP_NOTHROW;
extern int omp_get_num_procs(void) WEFT_OMP_NOTHROW;
extern int omp_get_thread_limit(void) WEFT_OMP_NOTHROW;
extern int omp_in_parallel(void) WEFT_OMP_NOTHROW;
extern int omp_get_dynamic(void) WEFT_OMP_NOTHROW;
extern void omp_set_dynamic(int) WEFT_OMP_NOTHROW;
extern int omp_get_nested(void) WEFT_OMP_NOTHROW __attribute__((deprecated));
extern void omp_set_nested(int) WEFT_OMP_NOTHROW __attribute__((deprecated));
extern int omp_get_max_active_levels(void) WEFT_OMP_NOTHROW;
extern void omp_set_max_active_levels(int) WEFT_OMP_NOTHROW;
extern int omp_get_supported_active_levels(void) WEFT_OMP_NOTHROW;
extern int omp_get_level(void) WEFT_OMP_NOTHROW;
extern int omp_get_active_level(void) WEFT_OMP_NOTHROW;
extern int omp_get_ancestor_thread_num(int level) WEFT_OMP_NOTHROW;
extern int omp_get_team_size(int level) WEFT_OMP_NOTHROW;
extern int omp_get_cancellation(void) WEFT_OMP_NOTHROW;

typedef enum omp_sched_t {
  omp_sched_static = 1,
  omp_sched_dynamic = 2,
  omp_sched_guided = 3,
  omp_sched_auto = 4,
  omp_sched_monotonic = (int)0x80000000u,
} omp_sched_t;
extern void omp_set_schedule(omp_sched_t kind, int chunk) WEFT_OMP_NOTHROW;
extern void omp_get_schedule(omp_sched_t* kind, int* chunk) WEFT_OMP_NOTHROW;

// ---- tasks

typedef enum omp_event_handle_t WEFT_OMP_AS_UINTPTR { weft_omp_event_max = UINTPTR_MAX } omp_event_handle_t;
#ifdef __clang__
typedef void* omp_depend_t;
#else
typedef struct omp_depend_t { void* weft_words[2]; } omp_depend_t;
#endif

extern int omp_in_final(void) WEFT_OMP_NOTHROW;
extern int omp_in_explicit_task(void) WEFT_OMP_NOTHROW;
extern int omp_get_max_task_priority(void) WEFT_OMP_NOTHROW;
extern void omp_fulfill_event(omp_event_handle_t) WEFT_OMP_NOTHROW;

// ---- teams, devices

extern int omp_get_num_teams(void) WEFT_OMP_NOTHROW;
extern int omp_get_team_num(void) WEFT_OMP_NOTHROW;
extern int omp_get_max_teams(void) WEFT_OMP_NOTHROW;
extern void omp_set_num_teams(int) WEFT_OMP_NOTHROW;
extern int omp_get_teams_thread_limit(void) WEFT_OMP_NOTHROW;
extern void omp_set_teams_thread_limit(int) WEFT_OMP_NOTHROW;

enum { omp_initial_device = -1, omp_invalid_device = -4 };
extern int omp_get_num_devices(void) WEFT_OMP_NOTHROW;
extern int omp_get_device_num(void) WEFT_OMP_NOTHROW;
extern int omp_get_default_device(void) WEFT_OMP_NOTHROW;
extern void omp_set_default_device(int) WEFT_OMP_NOTHROW;
extern int omp_get_initial_device(void) WEFT_OMP_NOTHROW;
extern int omp_is_initial_device(void) WEFT_OMP_NOTHROW;
extern void* omp_target_alloc(size_t bytes, int device) WEFT_OMP_NOTHROW;
extern void omp_target_free(void*, int device) WEFT_OMP_NOTHROW;
extern int omp_target_is_present(const void*, int device) WEFT_OMP_NOTHROW;
extern int omp_target_is_accessible(const void*, size_t bytes, int device) WEFT_OMP_NOTHROW;
extern void* omp_get_mapped_ptr(const void*, int device) WEFT_OMP_NOTHROW;
extern int omp_target_associate_ptr(const void* host, const void* device_memory, size_t bytes, size_t offset, int device)
    WEFT_OMP_NOTHROW;
extern int omp_target_disassociate_ptr(const void* host, int device) WEFT_OMP_NOTHROW;
extern int omp_target_memcpy(void* to, const void* from, size_t bytes, size_t to_offset, size_t from_offset, int to_device,
                             int from_device) WEFT_OMP_NOTHROW;
extern int omp_target_memcpy_rect(void* to, const void* from, size_t element, int dims, const size_t* volume,
                                  const size_t* to_offsets, const size_t* from_offsets, const size_t* to_dimensions,
                                  const size_t* from_dimensions, int to_device, int from_device) WEFT_OMP_NOTHROW;
#ifndef __clang__
extern int omp_target_memcpy_async(void* to, const void* from, size_t bytes, size_t to_offset, size_t from_offset, int to_device,
                                   int from_device, int n, omp_depend_t* depends) WEFT_OMP_NOTHROW;
extern int omp_target_memcpy_rect_async(void* to, const void* from, size_t element, int dims, const size_t* volume,
                                        const size_t* to_offsets, const size_t* from_offsets, const size_t* to_dimensions,
                                        const size_t* from_dimensions, int to_device, int from_device, int n,
                                        omp_depend_t* depends) WEFT_OMP_NOTHROW;
#endif

typedef enum omp_pause_resource_t { omp_pause_soft = 1, omp_pause_hard = 2 } omp_pause_resource_t;
extern int omp_pause_resource(omp_pause_resource_t, int device) WEFT_OMP_NOTHROW;
extern int omp_pause_resource_all(omp_pause_resource_t) WEFT_OMP_NOTHROW;

// ---- places

typedef enum omp_proc_bind_t {
  omp_proc_bind_false = 0,
  omp_proc_bind_true = 1,
  omp_proc_bind_primary = 2,
  omp_proc_bind_master = omp_proc_bind_primary,
  omp_proc_bind_close = 3,
  omp_proc_bind_spread = 4,
} omp_proc_bind_t;
extern omp_proc_bind_t omp_get_proc_bind(void) WEFT_OMP_NOTHROW;
extern int omp_get_num_places(void) WEFT_OMP_NOTHROW;
extern int omp_get_place_num_procs(int place) WEFT_OMP_NOTHROW;
extern void omp_get_place_proc_ids(int place, int* ids) WEFT_OMP_NOTHROW;
extern int omp_get_place_num(void) WEFT_OMP_NOTHROW;
extern int omp_get_partition_num_places(void) WEFT_OMP_NOTHROW;
extern void omp_get_partition_place_nums(int* places) WEFT_OMP_NOTHROW;
extern void omp_set_affinity_format(const char* format) WEFT_OMP_NOTHROW;
extern size_t omp_get_affinity_format(char* buffer, size_t size) WEFT_OMP_NOTHROW;
extern void omp_display_affinity(const char* format) WEFT_OMP_NOTHROW;
extern size_t omp_capture_affinity(char* buffer, size_t size, const char* format) WEFT_OMP_NOTHROW;

// ---- memory

typedef uintptr_t omp_uintptr_t;
typedef enum omp_memspace_handle_t WEFT_OMP_AS_UINTPTR {
  omp_default_mem_space = 0,
  omp_large_cap_mem_space = 1,
  omp_const_mem_space = 2,
  omp_high_bw_mem_space = 3,
  omp_low_lat_mem_space = 4,
  weft_omp_memspace_max = UINTPTR_MAX,
} omp_memspace_handle_t;
typedef enum omp_allocator_handle_t WEFT_OMP_AS_UINTPTR {
  omp_null_allocator = 0,
  omp_default_mem_alloc = 1,
  omp_large_cap_mem_alloc = 2,
  omp_const_mem_alloc = 3,
  omp_high_bw_mem_alloc = 4,
  omp_low_lat_mem_alloc = 5,
  omp_cgroup_mem_alloc = 6,
  omp_pteam_mem_alloc = 7,
  omp_thread_mem_alloc = 8,
  weft_omp_allocator_max = UINTPTR_MAX,
} omp_allocator_handle_t;
typedef enum omp_alloctrait_key_t {
  omp_atk_sync_hint = 1,
  omp_atk_alignment = 2,
  omp_atk_access = 3,
  omp_atk_pool_size = 4,
  omp_atk_fallback = 5,
  omp_atk_fb_data = 6,
  omp_atk_pinned = 7,
  omp_atk_partition = 8,
} omp_alloctrait_key_t;
typedef enum omp_alloctrait_value_t WEFT_OMP_AS_UINTPTR {
  omp_atv_default = UINTPTR_MAX,
  omp_atv_false = 0,
  omp_atv_true = 1,
  omp_atv_contended = 3,
  omp_atv_uncontended = 4,
  omp_atv_serialized = 5,
  omp_atv_sequential = omp_atv_serialized,
  omp_atv_private = 6,
  omp_atv_all = 7,
  omp_atv_thread = 8,
  omp_atv_pteam = 9,
  omp_atv_cgroup = 10,
  omp_atv_default_mem_fb = 11,
  omp_atv_null_fb = 12,
  omp_atv_abort_fb = 13,
  omp_atv_allocator_fb = 14,
  omp_atv_environment = 15,
  omp_atv_nearest = 16,
  omp_atv_blocked = 17,
  omp_atv_interleaved = 18,
} omp_alloctrait_value_t;
typedef struct omp_alloctrait_t {
  omp_alloctrait_key_t key;
  omp_uintptr_t value;
} omp_alloctrait_t;

extern omp_allocator_handle_t omp_init_allocator(omp_memspace_handle_t, int n, const omp_alloctrait_t traits[]) WEFT_OMP_NOTHROW;
extern void omp_destroy_allocator(omp_allocator_handle_t) WEFT_OMP_NOTHROW;
extern void omp_set_default_allocator(omp_allocator_handle_t) WEFT_OMP_NOTHROW;
extern omp_allocator_handle_t omp_get_default_allocator(void) WEFT_OMP_NOTHROW;
extern void omp_free(void*, omp_allocator_handle_t WEFT_OMP_DEFAULT(omp_null_allocator)) WEFT_OMP_NOTHROW;
extern void* omp_alloc(size_t bytes, omp_allocator_handle_t WEFT_OMP_DEFAULT(omp_null_allocator)) WEFT_OMP_NOTHROW
    __attribute__((malloc, alloc_size(1)));
extern void* omp_aligned_alloc(size_t alignment, size_t bytes, omp_allocator_handle_t WEFT_OMP_DEFAULT(omp_null_allocator))
    WEFT_OMP_NOTHROW __attribute__((malloc, alloc_size(2), alloc_align(1)));
extern void* omp_calloc(size_t n, size_t bytes, omp_allocator_handle_t WEFT_OMP_DEFAULT(omp_null_allocator)) WEFT_OMP_NOTHROW
    __attribute__((malloc, alloc_size(1, 2)));
extern void* omp_aligned_calloc(size_t alignment, size_t n, size_t bytes,
                                omp_allocator_handle_t WEFT_OMP_DEFAULT(omp_null_allocator)) WEFT_OMP_NOTHROW
    __attribute__((malloc, alloc_size(2, 3), alloc_align(1)));
extern void* omp_realloc(void*, size_t bytes, omp_allocator_handle_t WEFT_OMP_DEFAULT(omp_null_allocator),
                         omp_allocator_handle_t WEFT_OMP_DEFAULT(omp_null_allocator)) WEFT_OMP_NOTHROW
    __attribute__((alloc_size(2)));

// ---- time, the environment, tools

extern double omp_get_wtime(void) WEFT_OMP_NOTHROW;
extern double omp_get_wtick(void) WEFT_OMP_NOTHROW;
extern void omp_display_env(int verbose) WEFT_OMP_NOTHROW;

typedef enum omp_control_tool_t {
  omp_control_tool_start = 1,
  omp_control_tool_pause = 2,
  omp_control_tool_flush = 3,
  omp_control_tool_end = 4,
} omp_control_tool_t;
typedef enum omp_control_tool_result_t {
  omp_control_tool_notool = -2,
  omp_control_tool_nocallback = -1,
  omp_control_tool_success = 0,
  omp_control_tool_ignored = 1,
} omp_control_tool_result_t;
extern int omp_control_tool(int command, int modifier, void* arg) WEFT_OMP_NOTHROW;

#ifdef __cplusplus
}
#endif

#undef WEFT_OMP_NOTHROW
#undef WEFT_OMP_AS_UINTPTR
#undef WEFT_OMP_DEFAULT

#endif  // OMP_H
