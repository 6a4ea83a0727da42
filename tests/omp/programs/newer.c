/* newer.c: what this compiler's runtime does not have, and those of newer compilers, or Intel's, do: gcc's under its version of it. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <omp.h>
#include <stdint.h>
#include <string.h>

#include "check.h"

#define FIND(result, name, version, ...) \
  result (*name)(__VA_ARGS__) = (result(*)(__VA_ARGS__))find(#name, version)

static void* find(const char* name, const char* version) {
  void* found = dlvsym(RTLD_DEFAULT, name, version);
  if (found == NULL) fprintf(stderr, "%s@%s\n", name, version);
  CHECK(found != NULL);
  return found;
}

static void device_names_of_gcc(void) {
  FIND(const char*, omp_get_uid_from_device, "GOMP_6.0", int);
  FIND(int, omp_get_device_from_uid, "GOMP_6.0", const char*);
  FIND(void, omp_get_uid_from_device_, "GOMP_6.0", const char**, size_t*, int32_t);
  FIND(void, omp_get_uid_from_device_8_, "GOMP_6.0", const char**, size_t*, int64_t);
  FIND(int, omp_get_device_from_uid_, "GOMP_6.0", const char*, size_t);
  const char* host = omp_get_uid_from_device(-1);
  CHECK(host != NULL && strcmp(host, "OMP_INITIAL_DEVICE") == 0);
  CHECK(omp_get_uid_from_device(omp_get_initial_device()) != NULL);
  CHECK(omp_get_uid_from_device(omp_get_num_devices() + 1) == NULL && omp_get_uid_from_device(-4) == NULL);
  CHECK(omp_get_device_from_uid(host) == -1);
  CHECK(omp_get_device_from_uid("") == -4 && omp_get_device_from_uid(NULL) == -4);
  const char* string = NULL;
  size_t length = 0;
  omp_get_uid_from_device_(&string, &length, 0);
  CHECK(length == strlen(host) && memcmp(string, host, length) == 0);
  CHECK(omp_get_device_from_uid_("OMP_INITIAL_DEVICE and more", length) == -1);
  CHECK(omp_get_device_from_uid_(host, length - 1) == -4);
  omp_get_uid_from_device_8_(&string, &length, 7);
  CHECK(string == NULL && length == 0);
}

static void device_names_of_clang(void) {
  FIND(const char*, omp_get_uid_from_device, "VERSION", int);
  FIND(int, omp_get_device_from_uid, "VERSION", const char*);
  CHECK(omp_get_device_from_uid(omp_get_uid_from_device(omp_get_initial_device())) == omp_get_initial_device());
  CHECK(omp_get_device_from_uid("another") == -2);
}

static void set_memory(void) {
  FIND(void*, omp_target_memset, "GOMP_6.0.1", void*, int, size_t, int);
  FIND(void*, omp_target_memset_async, "GOMP_6.0.1", void*, int, size_t, int, int, const void*);
  char text[] = "abcdef";
  CHECK(omp_target_memset(text, 'x', 3, omp_get_initial_device()) == text && strcmp(text, "xxxdef") == 0);
  CHECK(omp_target_memset_async(text + 3, 'y', 2, omp_get_default_device(), 0, NULL) == text + 3);
  PRAGMA(omp taskwait)
  CHECK(strcmp(text, "xxxyyf") == 0);
}

static void interoperate(void) {
  FIND(void, GOMP_interop, "GOMP_5.1.3", int, int, void***, const void*, const void*, int, void**, int, void***, unsigned, void**);
  FIND(const char*, omp_get_interop_name, "GOMP_5.1.3", void*, int);
  FIND(void*, omp_get_interop_ptr, "GOMP_5.1.3", void*, int, int*);
  FIND(void, omp_get_interop_name_, "GOMP_5.1.3", const char**, size_t*, void*, int);
  FIND(void, omp_get_interop_str_, "GOMP_5.1.3", const char**, size_t*, void*, int, int*);
  FIND(const char*, omp_get_interop_rc_desc, "GOMP_5.1.3", void*, int);
  void *one = &one, *other = &one, **made[] = {&one}, **ended[] = {&other};
  GOMP_interop(-1, 1, made, NULL, NULL, 0, NULL, 1, ended, 0, NULL);
  CHECK(one == NULL && other == NULL);
  int error = 1;
  CHECK(omp_get_interop_ptr(one, -7, &error) == NULL && error == -1);
  CHECK(omp_get_interop_rc_desc(one, error) != NULL && omp_get_interop_rc_desc(one, 7) == NULL);
  CHECK(strcmp(omp_get_interop_name(one, -1), "fr_id") == 0 && strcmp(omp_get_interop_name(one, -9), "targetsync") == 0);
  CHECK(omp_get_interop_name(one, 0) == NULL && omp_get_interop_name(one, -10) == NULL);
  const char* string = NULL;
  size_t length = 0;
  omp_get_interop_name_(&string, &length, one, -3);
  CHECK(string != NULL && length == 6 && memcmp(string, "vendor", length) == 0);
  omp_get_interop_str_(&string, &length, one, -4, &error);
  CHECK(string == NULL && length == 0 && error == -1);
}

static void memory_spaces(void) {
  FIND(uintptr_t, omp_get_device_memspace, "VERSION", int, uintptr_t);
  FIND(uintptr_t, omp_get_devices_all_allocator, "VERSION", uintptr_t);
  FIND(int, omp_get_memspace_num_resources, "VERSION", uintptr_t);
  FIND(uintptr_t, omp_init_allocator, "VERSION", uintptr_t, int, const void*);
  FIND(void*, omp_alloc, "VERSION", size_t, uintptr_t);
  FIND(void, omp_free, "VERSION", void*, uintptr_t);
  const uintptr_t* space = find("omp_default_mem_space", "VERSION");
  CHECK(omp_get_device_memspace(0, *space) == 0 && omp_get_devices_all_allocator(*space) == 0);
  CHECK(omp_get_memspace_num_resources(*space) == 1 && omp_get_memspace_num_resources(0) == 0);
  const uintptr_t allocator = omp_init_allocator(*space, 0, NULL);
  void* memory = omp_alloc(100, allocator);
  CHECK(allocator != 0 && memory != NULL);
  omp_free(memory, allocator);
}

static void add_numbers_of_16_bytes(void) {
  FIND(void, __kmpc_atomic_float16_add, "VERSION", void*, int, __float128*, __float128);
  FIND(__float128, __kmpc_atomic_float16_sub_cpt_rev, "VERSION", void*, int, __float128*, __float128, int);
  FIND(void, __kmpc_atomic_fixed4_mul_fp, "VERSION", void*, int, int32_t*, __float128);
  FIND(double, __kmpc_atomic_float8_add_cpt_fp, "VERSION", void*, int, double*, __float128, int);
  __float128 sum = 0;
  double all = 0;
  PRAGMA(omp parallel num_threads(4))
  for (int i = 0; i < 1000; ++i) {
    __kmpc_atomic_float16_add(NULL, 0, &sum, (__float128)0.125);
    __kmpc_atomic_float8_add_cpt_fp(NULL, 0, &all, (__float128)0.5, 1);
  }
  CHECK(sum == 500 && all == 2000);
  CHECK(__kmpc_atomic_float16_sub_cpt_rev(NULL, 0, &sum, (__float128)501, 1) == 1 && sum == 1);
  int32_t whole = 7;
  __kmpc_atomic_fixed4_mul_fp(NULL, 0, &whole, (__float128)1.5);
  CHECK(whole == 10);
}

int main(void) {
  device_names_of_gcc();
  device_names_of_clang();
  set_memory();
  interoperate();
  memory_spaces();
  add_numbers_of_16_bytes();
  return check_end();
}
