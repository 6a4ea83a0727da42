#include "os/cpu_set.hpp"

#include <sys/syscall.h>
#include <unistd.h>

#include <bit>
#include <cerrno>

#include "os/get_cpu.hpp"

namespace weft::rt {

int CpuSet::count() const {
  int sum = 0;
  for (const unsigned long word : words_) sum += std::popcount(word);
  return sum;
}

// The bare system calls: the wrappers of glibc take a cpu_set_t, which holds 1024 CPUs.
int get_affinity(CpuSet& cpus, int tid) {
  cpus = CpuSet{};
  return ::syscall(SYS_sched_getaffinity, tid, CpuSet::bytes(), cpus.data()) < 0 ? errno : 0;
}

int set_affinity(const CpuSet& cpus, int tid) {
  return ::syscall(SYS_sched_setaffinity, tid, CpuSet::bytes(), cpus.data()) < 0 ? errno : 0;
}

int cpu_now() {
  unsigned cpu = 0;
  unsigned node = 0;
  return get_cpu(cpu, node) ? static_cast<int>(cpu) : -1;
}

}  // namespace weft::rt
