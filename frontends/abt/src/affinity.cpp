// affinity.cpp: ABT_xstream_*cpubind, *affinity. The core binds a worker to one CPU: of several an ES gets the one that
// is its turn by its rank.
#include <algorithm>
#include <mutex>
#include <new>
#include <utility>

#include "affinity_list.hpp"
#include "runtime.hpp"
#include "xstream.hpp"

namespace weft::abt {
namespace {

// Of CPUs that are not there nothing is said, as long as one is. Empty: any CPU of the process.
int bind(Xstream* xstream, std::vector<int> cpus) noexcept {
  const bool any = cpus.empty();
  std::erase_if(cpus, [](int cpu) { return cpu < 0 || !front::may_use_cpu(cpu); });
  if (!any && cpus.empty()) return ABT_ERR_CPUID;
  const auto rank = static_cast<size_t>(xstream->rank.load(std::memory_order_relaxed));
  const int cpu = any ? -1 : cpus[rank % cpus.size()];
  std::lock_guard hold(xstream->cpus_lock);
  const int error = weft_worker_bind(xstream->worker, cpu);
  if (error != WEFT_OK) return error == WEFT_ERR_INVALID ? ABT_ERR_CPUID : ABT_ERR_SYS;
  xstream->cpus = std::move(cpus);
  return ABT_SUCCESS;
}

// By rank, modulo their number. Written by ABT_init() and ABT_finalize().
CpuSets* places = nullptr;

std::vector<int> usable_cpus() {
  std::vector<int> all;
  for (int cpu = 0; cpu < front::kMostCpus; ++cpu) {
    if (front::may_use_cpu(cpu)) all.push_back(cpu);
  }
  return all;
}

// Its numbers count the CPUs that the process may use, and begin anew behind the last.
void make_real(CpuSets& sets, const std::vector<int>& usable) {
  const auto n = static_cast<int>(usable.size());
  for (std::vector<int>& cpus : sets) {
    for (int& cpu : cpus) cpu = usable[static_cast<size_t>((cpu % n + n) % n)];
    std::sort(cpus.begin(), cpus.end());
    cpus.erase(std::unique(cpus.begin(), cpus.end()), cpus.end());
  }
}

bool left_out() noexcept { return !state.environment.has_affinity; }

constexpr int kNotBound = kVersion20 ? ABT_ERR_CPUID : ABT_ERR_FEATURE_NA;

}  // namespace

int set_places(const char* affinity) noexcept try {
  delete std::exchange(places, nullptr);
  if (affinity == nullptr) return ABT_SUCCESS;
  const std::vector<int> usable = usable_cpus();
  if (usable.empty()) return ABT_SUCCESS;  // the kernel does not say
  CpuSets sets = parse_affinity(affinity);
  if (sets.empty()) {  // an ES each
    for (size_t i = 0; i < usable.size(); ++i) sets.push_back({static_cast<int>(i)});
  }
  make_real(sets, usable);
  places = new CpuSets(std::move(sets));
  return ABT_SUCCESS;
} catch (const std::bad_alloc&) {
  return ABT_ERR_MEM;
}

void place(Xstream* xstream) noexcept try {
  if (places == nullptr) return;
  const auto rank = static_cast<size_t>(xstream->rank.load(std::memory_order_relaxed));
  static_cast<void>(bind(xstream, (*places)[rank % places->size()]));
} catch (const std::bad_alloc&) {
  // It stays where it is: a place is a hint.
}

}  // namespace weft::abt

using namespace weft::abt;

extern "C" {

int ABT_xstream_set_cpubind(ABT_xstream xstream, int cpuid) {
  return ABT_xstream_set_affinity(xstream, 1, &cpuid);
}

int ABT_xstream_get_cpubind(ABT_xstream xstream, int* cpuid) {
  if (is_null(xstream)) return ABT_ERR_INV_XSTREAM;
  if (left_out()) return ABT_ERR_FEATURE_NA;
  const int cpu = weft_worker_cpu(record(xstream)->worker);
  if (cpu < 0) return kNotBound;
  *cpuid = cpu;
  return ABT_SUCCESS;
}

int ABT_xstream_set_affinity(ABT_xstream xstream, int num_cpuids, int* cpuids) try {
  if (is_null(xstream)) return ABT_ERR_INV_XSTREAM;
  if (num_cpuids < 0) return ABT_ERR_INV_ARG;
  if (left_out()) return ABT_ERR_FEATURE_NA;
  return bind(record(xstream), num_cpuids > 0 ? std::vector<int>(cpuids, cpuids + num_cpuids) : std::vector<int>());
} catch (const std::bad_alloc&) {
  return ABT_ERR_MEM;
}

// How many there are, also where that is more than there is room for. Not bound: all that the process may use.
int ABT_xstream_get_affinity(ABT_xstream xstream, int max_cpuids, int* cpuids, int* num_cpuids) try {
  if (is_null(xstream)) return ABT_ERR_INV_XSTREAM;
  if (max_cpuids < 0) return ABT_ERR_INV_ARG;
  if (left_out()) return ABT_ERR_FEATURE_NA;
  std::vector<int> cpus;
  {
    std::lock_guard hold(record(xstream)->cpus_lock);
    cpus = record(xstream)->cpus;
  }
  if (cpus.empty()) cpus = usable_cpus();
  if (num_cpuids != nullptr) *num_cpuids = static_cast<int>(cpus.size());
  if (cpuids != nullptr) std::copy_n(cpus.begin(), std::min(cpus.size(), static_cast<size_t>(max_cpuids)), cpuids);
  return ABT_SUCCESS;
} catch (const std::bad_alloc&) {
  return ABT_ERR_MEM;
}

}  // extern "C"
