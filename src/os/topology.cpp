#include "os/topology.hpp"

#include <hwloc.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <forward_list>
#include <map>
#include <memory>
#include <mutex>
#include <tuple>

#include "os/file.hpp"

namespace weft::rt {
namespace {

struct DestroyTopology {
  void operator()(hwloc_topology* topology) const { hwloc_topology_destroy(topology); }
};
using HwlocTopology = std::unique_ptr<hwloc_topology, DestroyTopology>;

// Only what the order needs: no I/O devices, caches, distances or memory attributes. Groups carry
// NUMA nodes that are smaller than the machine, so they stay where they mean something.
HwlocTopology load_hwloc(const char* synthetic) {
  hwloc_topology_t raw = nullptr;
  if (hwloc_topology_init(&raw) != 0) return nullptr;
  HwlocTopology topology(raw);
  hwloc_topology_set_all_types_filter(raw, HWLOC_TYPE_FILTER_KEEP_NONE);
  hwloc_topology_set_type_filter(raw, HWLOC_OBJ_CORE, HWLOC_TYPE_FILTER_KEEP_ALL);
  hwloc_topology_set_type_filter(raw, HWLOC_OBJ_GROUP, HWLOC_TYPE_FILTER_KEEP_STRUCTURE);
#if HWLOC_API_VERSION >= 0x00020800  // before, they cannot be left out
  hwloc_topology_set_flags(raw, HWLOC_TOPOLOGY_FLAG_NO_DISTANCES | HWLOC_TOPOLOGY_FLAG_NO_MEMATTRS |
                                    HWLOC_TOPOLOGY_FLAG_NO_CPUKINDS);
#endif
  if (synthetic != nullptr && hwloc_topology_set_synthetic(raw, synthetic) != 0) return nullptr;
  if (hwloc_topology_load(raw) != 0) return nullptr;
  return topology;
}

int node_of(hwloc_obj_t pu) {
  const int node = hwloc_bitmap_first(pu->nodeset);
  return node < 0 ? 0 : node;
}

int core_of(hwloc_topology_t topology, hwloc_obj_t pu) {
  const hwloc_obj_t core = hwloc_get_ancestor_obj_by_type(topology, HWLOC_OBJ_CORE, pu);
  return static_cast<int>(core != nullptr ? core->logical_index : pu->logical_index);
}

// Spread over cores first: a second worker on a core gains a fraction of what one on a core of its
// own does. `pus` comes in the machine's order, so that neighbours stay neighbours.
void order_for_workers(std::vector<Pu>& pus) {
  std::map<int, int> seen;  // by core: how many of its PUs have come already
  std::vector<std::tuple<int, std::size_t>> key(pus.size());
  for (std::size_t i = 0; i < pus.size(); ++i) key[i] = {seen[pus[i].core]++, i};
  std::sort(key.begin(), key.end());
  std::vector<Pu> ordered;
  ordered.reserve(pus.size());
  for (const auto& [turn, i] : key) ordered.push_back(pus[i]);
  pus.swap(ordered);
}

int count_nodes(const std::vector<Pu>& pus) {
  CpuSet nodes;
  for (const Pu& pu : pus) nodes.add(pu.node);
  return nodes.count();
}

// The kernel's lists, "0-3,8\n": f(number) for each, in ascending order. False: it is none.
template <class F>
bool for_each_listed(const std::string& list, F&& f) {
  const char* at = list.c_str();
  for (;;) {
    char* end = nullptr;
    const long first = std::strtol(at, &end, 10);
    if (end == at || first < 0) return false;
    long last = first;
    if (*end == '-') {
      at = end + 1;
      last = std::strtol(at, &end, 10);
      if (end == at) return false;
    }
    for (long number = first; number <= std::min<long>(last, kMaxCpus - 1); ++number) f(static_cast<int>(number));
    if (*end != ',') return *end == '\n' || *end == '\0';
    at = end + 1;
  }
}

// By CPU; -1: nothing is known.
using Numbers = std::vector<int>;

bool read_nodes(const std::string& sysfs, Numbers& node_of) {
  const std::string folder = sysfs + "/devices/system/node/";
  const std::string online = read_file(folder + "online").value_or("0");  // a kernel without NUMA
  std::vector<int> nodes;
  if (!for_each_listed(online, [&](int node) { nodes.push_back(node); })) return false;
  if (nodes.size() == 1) {
    std::fill(node_of.begin(), node_of.end(), nodes[0]);
    return true;
  }
  for (const int node : nodes) {
    const auto cpus = read_file(folder + "node" + std::to_string(node) + "/cpulist");
    if (!cpus) return false;
    if (*cpus == "\n") continue;  // of memory alone
    if (!for_each_listed(*cpus, [&](int cpu) { node_of[static_cast<std::size_t>(cpu)] = node; })) return false;
  }
  return true;
}

bool read_cores(const std::string& sysfs, const CpuSet& allowed, Numbers& core_of) {
  const std::string folder = sysfs + "/devices/system/cpu/";
  const bool without_smt = read_file(folder + "smt/active") == "0\n";
  int cores = 0;
  for (int cpu = 0; cpu < kMaxCpus; ++cpu) {
    int& core = core_of[static_cast<std::size_t>(cpu)];
    if (!allowed.contains(cpu) || core >= 0) continue;
    core = cores++;
    if (without_smt) continue;
    const auto siblings = read_file(folder + "cpu" + std::to_string(cpu) + "/topology/thread_siblings_list");
    const auto note = [&](int sibling) { core_of[static_cast<std::size_t>(sibling)] = core; };
    if (!siblings || !for_each_listed(*siblings, note)) return false;
  }
  return true;
}

Topology read_machine(const CpuSet& allowed) {
  if (std::optional<Topology> topology = topology_by_sysfs(allowed)) return *std::move(topology);
  Topology topology = topology_by_hwloc(allowed);
  // hwloc failed, or was told by its environment of another machine than this.
  return topology.pus.empty() ? topology_without_smt(allowed) : topology;
}

// One entry per affinity mask ever seen; entries never move and are never freed, as workers of an
// earlier initialisation may still be ending.
struct Cache {
  struct Entry {
    CpuSet allowed;
    Topology topology;
  };
  std::mutex mutex;
  std::forward_list<Entry> entries;
};

Cache& cache() {
  static Cache& instance = *new Cache;  // outlives every static destructor
  return instance;
}

}  // namespace

Topology topology_without_smt(const CpuSet& allowed) {
  Topology topology;
  for (int cpu = 0; cpu < kMaxCpus; ++cpu) {
    if (allowed.contains(cpu)) topology.pus.push_back({cpu, cpu, 0});
  }
  topology.nodes = topology.pus.empty() ? 0 : 1;
  return topology;
}

std::optional<Topology> topology_by_sysfs(const CpuSet& allowed, const std::string& sysfs) {
  Numbers node_of(kMaxCpus, -1);
  Numbers core_of(kMaxCpus, -1);
  if (!read_nodes(sysfs, node_of) || !read_cores(sysfs, allowed, core_of)) return std::nullopt;
  Topology topology;
  for (int cpu = 0; cpu < kMaxCpus; ++cpu) {
    const auto i = static_cast<std::size_t>(cpu);
    if (!allowed.contains(cpu)) continue;
    if (node_of[i] < 0) return std::nullopt;
    topology.pus.push_back({cpu, core_of[i], node_of[i]});
  }
  std::sort(topology.pus.begin(), topology.pus.end(),
            [](const Pu& a, const Pu& b) { return std::tie(a.node, a.cpu) < std::tie(b.node, b.cpu); });
  order_for_workers(topology.pus);
  topology.nodes = count_nodes(topology.pus);
  return topology;
}

Topology topology_by_hwloc(const CpuSet& allowed, const char* synthetic) {
  Topology result;
  const HwlocTopology topology = load_hwloc(synthetic);
  if (topology == nullptr) return result;
  hwloc_obj_t pu = nullptr;
  while ((pu = hwloc_get_next_obj_by_type(topology.get(), HWLOC_OBJ_PU, pu)) != nullptr) {
    const int cpu = static_cast<int>(pu->os_index);
    if (allowed.contains(cpu))
      result.pus.push_back({cpu, core_of(topology.get(), pu), node_of(pu)});
  }
  order_for_workers(result.pus);
  result.nodes = count_nodes(result.pus);
  return result;
}

const Topology* read_topology() noexcept try {
  CpuSet allowed;
  if (get_affinity(allowed) != 0) return nullptr;
  Cache& known = cache();
  const std::lock_guard lock(known.mutex);
  for (const Cache::Entry& entry : known.entries) {
    if (entry.allowed == allowed) return &entry.topology;
  }
  known.entries.push_front({allowed, read_machine(allowed)});
  return &known.entries.front().topology;
} catch (...) {
  return nullptr;
}

std::vector<Pu> select_pus(const Topology& topology, const std::vector<int>& cpus) {
  std::vector<Pu> selected;
  for (const int cpu : cpus) {
    const auto same = [cpu](const Pu& pu) { return pu.cpu == cpu; };
    const auto found = std::find_if(topology.pus.begin(), topology.pus.end(), same);
    if (found != topology.pus.end()) selected.push_back(*found);
  }
  return selected;
}

int bind_thread(int cpu, int tid) noexcept {
  CpuSet one;
  one.add(cpu);
  return set_affinity(one, tid);
}

int usable_cpus(const Topology& topology, double quota) noexcept {
  const double pus = static_cast<double>(topology.pus.size());
  return std::max(1, static_cast<int>(std::min(pus, std::ceil(quota))));
}

}  // namespace weft::rt
