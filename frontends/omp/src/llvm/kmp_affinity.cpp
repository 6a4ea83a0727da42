// kmp_affinity.cpp: kmp_…_affinity…(): masks of CPUs, and those of the calling thread.
//
// A mask is a cpu_set_t of ours. A kernel thread of the program's can be bound by it. A ULT cannot: CPUs belong to workers,
// which run whatever is ready.
#include <sched.h>
#include <unistd.h>

#include "llvm/ident.hpp"
#include "team.hpp"

namespace weft::omp::llvm {
namespace {

// What the functions below return besides 0 and 1.
constexpr int kBadNumber = -1;
constexpr int kNotOurs = -2;

cpu_set_t* mask_of(void** handle) { return static_cast<cpu_set_t*>(*handle); }

cpu_set_t allowed() {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(getpid(), sizeof set, &set) != 0) CPU_SET(0, &set);
  return set;
}

int most_cpus() { return static_cast<int>(sysconf(_SC_NPROCESSORS_CONF)); }

int check(int cpu) {
  if (cpu < 0 || cpu >= most_cpus() || cpu >= CPU_SETSIZE) return kBadNumber;
  const cpu_set_t set = allowed();
  return CPU_ISSET(static_cast<size_t>(cpu), &set) ? 0 : kNotOurs;
}

int set_affinity(void** handle) {
  if (this_thread().unit != nullptr) return kBadNumber;
  return sched_setaffinity(0, sizeof(cpu_set_t), mask_of(handle)) == 0 ? 0 : kBadNumber;
}

int get_affinity(void** handle) {
  return sched_getaffinity(0, sizeof(cpu_set_t), mask_of(handle)) == 0 ? 0 : kBadNumber;
}

int add(int cpu, void** handle) {
  const int wrong = check(cpu);
  if (wrong != kBadNumber) CPU_SET(static_cast<size_t>(cpu), mask_of(handle));
  return wrong;
}

int remove(int cpu, void** handle) {
  const int wrong = check(cpu);
  if (wrong != kBadNumber) CPU_CLR(static_cast<size_t>(cpu), mask_of(handle));
  return wrong;
}

int holds(int cpu, void** handle) {
  const int wrong = check(cpu);
  if (wrong != 0) return wrong == kBadNumber ? wrong : 0;
  return CPU_ISSET(static_cast<size_t>(cpu), mask_of(handle)) ? 1 : 0;
}

void create(void** handle) {
  cpu_set_t* mask = new cpu_set_t;
  CPU_ZERO(mask);
  *handle = mask;
}

void destroy(void** handle) {
  delete mask_of(handle);
  *handle = nullptr;
}

}  // namespace
}  // namespace weft::omp::llvm

using namespace weft::omp::llvm;

WEFT_OMP_API void kmp_create_affinity_mask(void** mask) { create(mask); }
WEFT_OMP_API void kmp_create_affinity_mask_(void** mask) { create(mask); }
WEFT_OMP_API void kmp_destroy_affinity_mask(void** mask) { destroy(mask); }
WEFT_OMP_API void kmp_destroy_affinity_mask_(void** mask) { destroy(mask); }
WEFT_OMP_API int kmp_set_affinity(void** mask) { return set_affinity(mask); }
WEFT_OMP_API int kmp_set_affinity_(void** mask) { return set_affinity(mask); }
WEFT_OMP_API int kmp_get_affinity(void** mask) { return get_affinity(mask); }
WEFT_OMP_API int kmp_get_affinity_(void** mask) { return get_affinity(mask); }
WEFT_OMP_API int kmp_get_affinity_max_proc() { return most_cpus(); }
WEFT_OMP_API int kmp_get_affinity_max_proc_() { return most_cpus(); }

WEFT_OMP_API int kmp_set_affinity_mask_proc(int cpu, void** mask) { return add(cpu, mask); }
WEFT_OMP_API int kmp_set_affinity_mask_proc_(const int* cpu, void** mask) { return add(*cpu, mask); }
WEFT_OMP_API int kmpc_set_affinity_mask_proc(int cpu, void** mask) { return add(cpu, mask); }
WEFT_OMP_API int kmp_unset_affinity_mask_proc(int cpu, void** mask) { return remove(cpu, mask); }
WEFT_OMP_API int kmp_unset_affinity_mask_proc_(const int* cpu, void** mask) { return remove(*cpu, mask); }
WEFT_OMP_API int kmpc_unset_affinity_mask_proc(int cpu, void** mask) { return remove(cpu, mask); }
WEFT_OMP_API int kmp_get_affinity_mask_proc(int cpu, void** mask) { return holds(cpu, mask); }
WEFT_OMP_API int kmp_get_affinity_mask_proc_(const int* cpu, void** mask) { return holds(*cpu, mask); }
WEFT_OMP_API int kmpc_get_affinity_mask_proc(int cpu, void** mask) { return holds(cpu, mask); }

// The calling thread may run wherever the process may.
WEFT_OMP_API int kmp_set_thread_affinity_mask_initial() {
  if (weft::omp::this_thread().unit != nullptr) return kBadNumber;
  const cpu_set_t set = allowed();
  return sched_setaffinity(0, sizeof set, &set) == 0 ? 0 : kBadNumber;
}
