/* places.c: where a program stands: nested regions, teams, target on the host, allocators, settings, large teams. */
#include <omp.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"

static void nested(void) {
  int count[4] = {0};
  omp_set_max_active_levels(3);
#pragma omp parallel num_threads(3)
  {
    const int a = omp_get_thread_num();
    CHECK(omp_get_level() == 1 && omp_get_active_level() == 1 && omp_get_num_threads() == 3 && omp_in_parallel());
#pragma omp parallel num_threads(2)
    {
      const int b = omp_get_thread_num();
#pragma omp parallel num_threads(a + 1)
      {
        const int c = omp_get_thread_num();
        CHECK(omp_get_level() == 3 && omp_get_num_threads() == a + 1 && omp_get_team_size(2) == 2);
        CHECK(omp_get_ancestor_thread_num(0) == 0 && omp_get_ancestor_thread_num(1) == a);
        CHECK(omp_get_ancestor_thread_num(2) == b && omp_get_ancestor_thread_num(3) == c);
        CHECK(omp_get_ancestor_thread_num(4) == -1 && omp_get_team_size(4) == -1);
#pragma omp parallel num_threads(5)
        {
          CHECK(omp_get_level() == 4 && omp_get_active_level() == 3);
          __atomic_fetch_add(&count[a], 1, __ATOMIC_RELAXED);
        }
      }
    }
  }
  CHECK(count[0] == 10 && count[1] == 4 && count[2] == 6);
  CHECK(omp_get_level() == 0 && !omp_in_parallel() && omp_get_num_threads() == 1);
  omp_set_max_active_levels(1);
#pragma omp parallel num_threads(2)
#pragma omp parallel num_threads(2)
  CHECK(omp_get_num_threads() == 1 && omp_get_level() == 2 && omp_get_active_level() == 1);
}

static void settings(void) {
  omp_set_num_threads(5);
  CHECK(omp_get_max_threads() == 5 && omp_get_num_procs() >= 1 && omp_get_thread_limit() > 1000);
  int outside = 0;
#pragma omp parallel reduction(+ : outside)
  {
    outside += omp_get_max_threads() == 5;
    omp_set_num_threads(omp_get_thread_num() + 1);
    outside += omp_get_max_threads() == omp_get_thread_num() + 1;
  }
  CHECK(outside == 10 && omp_get_max_threads() == 5);
  int threads = 0;
#pragma omp parallel if (outside == 0) reduction(+ : threads)
  threads += 1;
  CHECK(threads == 1);
  omp_set_schedule(omp_sched_guided, 9);
  omp_sched_t kind;
  int chunk;
  omp_get_schedule(&kind, &chunk);
  CHECK(kind == omp_sched_guided && chunk == 9);
  omp_set_dynamic(1);
  CHECK(omp_get_dynamic());
#pragma omp parallel num_threads(64)
  CHECK(omp_get_num_threads() >= 1 && omp_get_num_threads() <= 64);
  omp_set_dynamic(0);
  const double begin = omp_get_wtime();
  CHECK(omp_get_wtime() >= begin && omp_get_wtick() > 0 && omp_get_wtick() < 0.1);
}

static void large(void) {
  for (int round = 0; round < 2; ++round) {
    int n = 0, team = 0;
    long sum = 0;
#pragma omp parallel num_threads(10000) reduction(+ : n, sum)
    {
      n += 1;
      sum += omp_get_thread_num();
#pragma omp barrier
#pragma omp single
      team = omp_get_num_threads();
    }
    CHECK(n == 10000 && team == 10000 && sum == 10000L * 9999 / 2);
  }
#pragma omp parallel num_threads(3)
  CHECK(omp_get_num_threads() == 3);
}

static void leagues(void) {
  int teams = 0, threads = 0, seen[300] = {0};
  long sum = 0;
#pragma omp teams num_teams(3) thread_limit(2) reduction(+ : teams, threads)
  {
    CHECK(omp_get_num_teams() >= 1 && omp_get_num_teams() <= 3 && omp_get_team_num() < omp_get_num_teams());
    teams += omp_get_num_teams() == 3 ? 1 : 3;
#pragma omp parallel num_threads(7) reduction(+ : threads)
    {
      CHECK(omp_get_num_threads() <= 2);
      threads += 1;
    }
  }
  CHECK(teams == 3 && threads >= 1 && threads <= 6);
#pragma omp teams distribute num_teams(4)
  for (int i = 0; i < 300; ++i) seen[i]++;
#pragma omp teams distribute parallel for dist_schedule(static, 10) schedule(dynamic, 3) reduction(+ : sum)
  for (int i = 0; i < 300; ++i) {
    sum += i;
    seen[i]++;
  }
#pragma omp teams
#pragma omp loop bind(teams)
  for (int i = 0; i < 300; ++i) seen[i]++;
  CHECK(sum == 44850);
  for (int i = 0; i < 300; ++i) CHECK(seen[i] == 3);
}

#pragma omp declare target
static int everywhere = 4;
static int squared(int x) { return x * x; }
#pragma omp end declare target

static void devices(void) {
  int x = 1, host = 0, vector[100], sum = 0;
  CHECK(omp_get_num_devices() == 0 && omp_is_initial_device() && omp_get_default_device() >= 0);
  for (int i = 0; i < 100; ++i) vector[i] = i;
#pragma omp target map(tofrom : x, host)
  {
    x += squared(everywhere);
    host = omp_is_initial_device();
  }
  CHECK(x == 17 && host);
#pragma omp target enter data map(to : vector)
#pragma omp target teams distribute parallel for reduction(+ : sum) map(tofrom : vector)
  for (int i = 0; i < 100; ++i) {
    sum += vector[i];
    vector[i] = -i;
  }
#pragma omp target update from(vector)
#pragma omp target exit data map(from : vector)
  CHECK(sum == 4950 && vector[99] == -99);
#pragma omp target data map(tofrom : vector) use_device_addr(vector)
#pragma omp target map(vector[0 : 10]) if (0)
  vector[3] = 5;
  CHECK(vector[3] == 5);
#pragma omp parallel num_threads(2)
#pragma omp single
  {
#pragma omp target nowait depend(out : x) map(tofrom : x)
    x = 5;
#pragma omp target nowait depend(inout : x) map(tofrom : x)
    x *= 3;
#pragma omp target update to(x) nowait depend(inout : x)
#pragma omp taskwait
    CHECK(x == 15);
  }
  const int home = omp_get_initial_device();
  int* memory = omp_target_alloc(sizeof vector, home);
  CHECK(memory != NULL);
  CHECK(omp_target_memcpy(memory, vector, sizeof vector, 0, 0, home, home) == 0 && memory[50] == -50);
  CHECK(omp_target_is_present(vector, home));
  omp_target_free(memory, home);
}

static void allocators(void) {
  const omp_allocator_handle_t fixed[] = {omp_default_mem_alloc, omp_large_cap_mem_alloc, omp_const_mem_alloc,
                                          omp_high_bw_mem_alloc, omp_low_lat_mem_alloc,  omp_cgroup_mem_alloc,
                                          omp_pteam_mem_alloc,   omp_thread_mem_alloc,   omp_null_allocator};
  for (unsigned k = 0; k < sizeof fixed / sizeof *fixed; ++k) {
    char* memory = omp_alloc(1000, fixed[k]);
    CHECK(memory != NULL);
    memset(memory, 1, 1000);
    memory = omp_realloc(memory, 5000, omp_null_allocator, omp_null_allocator);
    CHECK(memory != NULL && memory[999] == 1);
    omp_free(memory, fixed[k]);
    int* zero = omp_calloc(50, sizeof *zero, fixed[k]);
    for (int i = 0; i < 50; ++i) CHECK(zero[i] == 0);
    omp_free(zero, omp_null_allocator);
  }
  omp_alloctrait_t traits[] = {
      {omp_atk_alignment, 512}, {omp_atk_pool_size, 64 << 10}, {omp_atk_fallback, omp_atv_null_fb}};
  const omp_allocator_handle_t small = omp_init_allocator(omp_default_mem_space, 3, traits);
  CHECK(small != omp_null_allocator);
  char* first = omp_alloc(40000, small);
  CHECK(first != NULL && (uintptr_t)first % 512 == 0);
  CHECK(omp_alloc(40000, small) == NULL);
  omp_free(first, small);
  first = omp_aligned_alloc(4096, 8192, small);
  CHECK(first != NULL && (uintptr_t)first % 4096 == 0);
  omp_free(first, small);
  omp_set_default_allocator(small);
  CHECK(omp_get_default_allocator() == small);
  int wrong = 0, private = 1;
#pragma omp parallel num_threads(4) private(private) allocate(small : private) reduction(+ : wrong)
  {
    private = omp_get_thread_num();
#pragma omp barrier
    wrong += private != omp_get_thread_num();
    int* mine = omp_alloc(64, omp_null_allocator);
    wrong += mine == NULL || (uintptr_t)mine % 512 != 0;
    omp_free(mine, omp_null_allocator);
  }
  CHECK(wrong == 0);
  omp_set_default_allocator(omp_default_mem_alloc);
  omp_destroy_allocator(small);
}

static void shown(void) {
  char text[100];
  CHECK(omp_capture_affinity(text, sizeof text, "%n of %N at %L") > 0 && strcmp(text, "0 of 1 at 0") == 0);
  CHECK(omp_get_num_places() >= 0 && omp_get_supported_active_levels() > 3);
  CHECK(omp_pause_resource_all(omp_pause_soft) == 0);
#pragma omp parallel num_threads(2)
  CHECK(omp_get_num_threads() == 2);
}

int main(void) {
  for (int round = 0; round < 3; ++round) {
    nested();
    settings();
    leagues();
    devices();
    allocators();
    shown();
  }
  large();
  return check_end();
}
