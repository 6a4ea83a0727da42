// topology.hpp: on which CPUs workers are placed, and in which order.
//
// hwloc knows every machine, but even restricted to cores and NUMA nodes it takes 3 ms here, two of them for plugins
// (Debian's libhwloc-plugins brings libraries for graphics cards into the process), and initialising the whole of Weft may
// take 0.5 ms. So:
//   - Which PUs share a core, and which node they are of, sysfs says: two short files where there is one node and no SMT;
//     else one more for each node and each core that the process may use.
//   - Where it does not, hwloc is asked.
//   - The answer is kept across finalise, and is looked for again only when the affinity mask has changed.
// Rejected: own reading of what else there is, caches say (hwloc's quirks list is long for a reason); a background
// thread (the first worker is bound before it would be ready).
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "os/cpu_set.hpp"

namespace weft::rt {

// A processing unit, in words of the kernel "a CPU".
struct Pu {
  int cpu;   // the kernel's number
  int core;  // numbered from 0 over the machine; PUs of one core share it
  int node;  // NUMA node, the kernel's number
};

struct Topology {
  // Those the process may use, in the order in which workers get them: the first PU of each core,
  // node by node; then the second of each, and so on.
  std::vector<Pu> pus;
  int nodes = 0;  // NUMA nodes that have one of them
};

// What the calling thread may use now. Any thread; may take a while the first time. Null if
// memory is short or the kernel does not answer. Valid for the life of the process.
const Topology* read_topology() noexcept;

// The PUs for workers confined to `cpus`, in the order of that list; those that may not be used
// are left out. May throw std::bad_alloc.
std::vector<Pu> select_pus(const Topology& topology, const std::vector<int>& cpus);

// Confines a thread of the process, 0: the calling one, to one PU. Returns 0 or an errno.
// Async-signal-safe.
int bind_thread(int cpu, int tid = 0) noexcept;

// How many workers make sense by default: one per PU, but not more than the CPU quota (see
// quota.hpp) can keep busy. At least 1.
int usable_cpus(const Topology& topology, double quota) noexcept;

// The sources, for tests. `sysfs` is where that is mounted; nothing: it does not say. `synthetic` is a machine described in
// hwloc's own words, such as "node:2 core:2 pu:2"; null means this one. If there is neither, each PU is a core.
std::optional<Topology> topology_by_sysfs(const CpuSet& allowed, const std::string& sysfs = "/sys");
Topology topology_by_hwloc(const CpuSet& allowed, const char* synthetic = nullptr);
Topology topology_without_smt(const CpuSet& allowed);

}  // namespace weft::rt
