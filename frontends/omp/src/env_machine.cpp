#include <hwloc.h>

#include <algorithm>
#include <atomic>
#include <memory>
#include <tuple>

#include "env.hpp"
#include "front/front.hpp"

namespace weft::omp {
namespace {

struct DestroyTopology {
  void operator()(hwloc_topology* topology) const { hwloc_topology_destroy(topology); }
};
using HwlocTopology = std::unique_ptr<hwloc_topology, DestroyTopology>;

HwlocTopology load(const char* synthetic) {
  hwloc_topology_t raw = nullptr;
  if (hwloc_topology_init(&raw) != 0) return nullptr;
  HwlocTopology topology(raw);
  hwloc_topology_set_all_types_filter(raw, HWLOC_TYPE_FILTER_KEEP_NONE);
  for (const hwloc_obj_type_t type : {HWLOC_OBJ_CORE, HWLOC_OBJ_PACKAGE, HWLOC_OBJ_L3CACHE, HWLOC_OBJ_L2CACHE, HWLOC_OBJ_L1CACHE})
    hwloc_topology_set_type_filter(raw, type, HWLOC_TYPE_FILTER_KEEP_ALL);
#if HWLOC_API_VERSION >= 0x00020800  // before, they cannot be left out
  hwloc_topology_set_flags(raw, HWLOC_TOPOLOGY_FLAG_NO_DISTANCES | HWLOC_TOPOLOGY_FLAG_NO_MEMATTRS |
                                    HWLOC_TOPOLOGY_FLAG_NO_CPUKINDS);
#endif
  if (synthetic != nullptr && hwloc_topology_set_synthetic(raw, synthetic) != 0) return nullptr;
  if (hwloc_topology_load(raw) != 0) return nullptr;
  return topology;
}

// What stands for the kind here: the last level of cache is the machine's to say. Where there is nothing of the kind, the
// whole machine is one.
hwloc_obj_type_t type_of(hwloc_topology_t topology, PlaceKind kind) {
  switch (kind) {
    case PlaceKind::kThreads: return HWLOC_OBJ_PU;
    case PlaceKind::kCores: return hwloc_get_nbobjs_by_type(topology, HWLOC_OBJ_CORE) > 0 ? HWLOC_OBJ_CORE : HWLOC_OBJ_PU;
    case PlaceKind::kNodes: return HWLOC_OBJ_NUMANODE;
    case PlaceKind::kSockets: break;
    case PlaceKind::kCaches:
      for (const hwloc_obj_type_t type : {HWLOC_OBJ_L3CACHE, HWLOC_OBJ_L2CACHE, HWLOC_OBJ_L1CACHE})
        if (hwloc_get_nbobjs_by_type(topology, type) > 0) return type;
      break;
  }
  return hwloc_get_nbobjs_by_type(topology, HWLOC_OBJ_PACKAGE) > 0 ? HWLOC_OBJ_PACKAGE : HWLOC_OBJ_MACHINE;
}

Place cpus_of(hwloc_obj_t object) {
  Place place;
  for (int cpu = hwloc_bitmap_first(object->cpuset); cpu >= 0; cpu = hwloc_bitmap_next(object->cpuset, cpu))
    place.push_back(cpu);
  return place;
}

// Threads or cores, neighbours beside each other, as in hwloc's order.
PlaceList places_of(std::vector<rt::Pu> pus, PlaceKind kind) {
  const auto key = [](const rt::Pu& pu) { return std::tuple(pu.node, pu.core, pu.cpu); };
  std::sort(pus.begin(), pus.end(), [&](const rt::Pu& a, const rt::Pu& b) { return key(a) < key(b); });
  PlaceList places;
  int core_before = -1;
  for (const rt::Pu& pu : pus) {
    if (kind == PlaceKind::kThreads || pu.core != core_before) places.emplace_back();
    places.back().push_back(pu.cpu);
    core_before = pu.core;
  }
  return places;
}

PlaceList single_cpus(const Machine& machine) {
  PlaceList places;
  for (const int cpu : machine.cpus) places.push_back({cpu});
  return places;
}

std::atomic<const rt::Topology*> read_before{nullptr};  // by this_machine()

}  // namespace

int share_still() {
  return read_before.load(std::memory_order_relaxed) == front::topology() ? device().share : 0;
}

Machine this_machine() {
  Machine machine;
  const rt::Topology* topology = front::topology();
  read_before.store(topology, std::memory_order_relaxed);
  if (topology == nullptr || topology->pus.empty()) {
    machine.cpus = {0};
    return machine;
  }
  machine.pus = topology->pus;
  for (const rt::Pu& pu : machine.pus) machine.cpus.push_back(pu.cpu);
  std::sort(machine.cpus.begin(), machine.cpus.end());
  const front::UsableCpus usable = front::usable_cpus(*topology);
  machine.procs = usable.procs;
  machine.share = usable.workers;
  return machine;
}

std::vector<CpuPath> cpu_paths(const Machine& machine) {
  std::vector<CpuPath> paths;
  const HwlocTopology topology = load(machine.synthetic);
  if (topology == nullptr) {
    for (const int cpu : machine.cpus) paths.push_back({cpu, {0, cpu, 0}});
    return paths;
  }
  hwloc_obj_t pu = nullptr;
  CpuPath last{-1, {0, -1, -1}};
  int core_before = -1;
  while ((pu = hwloc_get_next_obj_by_type(topology.get(), HWLOC_OBJ_PU, pu)) != nullptr) {
    const int cpu = static_cast<int>(pu->os_index);
    const auto index_of = [&](hwloc_obj_type_t type, int otherwise) {
      const hwloc_obj_t above = hwloc_get_ancestor_obj_by_type(topology.get(), type, pu);
      return above != nullptr ? static_cast<int>(above->logical_index) : otherwise;
    };
    const int socket = index_of(HWLOC_OBJ_PACKAGE, 0);
    const int core = index_of(HWLOC_OBJ_CORE, static_cast<int>(pu->logical_index));
    const bool same_socket = socket == last.level[0];
    const bool same_core = core == core_before;
    last = {cpu, {socket, same_core ? last.level[1] : same_socket ? last.level[1] + 1 : 0, same_core ? last.level[2] + 1 : 0}};
    core_before = core;
    if (std::binary_search(machine.cpus.begin(), machine.cpus.end(), cpu)) paths.push_back(last);
  }
  return paths;
}

PlaceList places_of_kind(const Machine& machine, PlaceKind kind) {
  // hwloc takes milliseconds for that, and these are asked for by every program that binds its threads.
  if (!machine.pus.empty() && (kind == PlaceKind::kThreads || kind == PlaceKind::kCores)) return places_of(machine.pus, kind);
  const HwlocTopology topology = load(machine.synthetic);
  if (topology == nullptr) return single_cpus(machine);
  PlaceList places;
  const hwloc_obj_type_t type = type_of(topology.get(), kind);
  hwloc_obj_t object = nullptr;
  while ((object = hwloc_get_next_obj_by_type(topology.get(), type, object)) != nullptr) places.push_back(cpus_of(object));
  if (!keep_usable(places, machine)) return single_cpus(machine);
  return places;
}

}  // namespace weft::omp
