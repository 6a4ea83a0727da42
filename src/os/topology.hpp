// topology.hpp: on which CPUs workers are placed, and in which order.
//
// hwloc knows every machine, but even restricted to cores and NUMA nodes its load takes 0.4 ms
// here (0.7 ms in full), and initialising the whole of Weft may take 0.5 ms. So:
//   - Where sysfs says "one NUMA node, no SMT" nothing is left to find out: two short files.
//   - Otherwise hwloc is loaded once per process; the answer is kept across finalise and is asked
//     for again only when the affinity mask has changed.
// Rejected: own reading of all of sysfs (hwloc's quirks list is long for a reason); a background
// thread (the first worker is bound before it would be ready).
#pragma once

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

// What the calling thread may use now. Any thread; may take milliseconds the first time. Null if
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

// The two sources, for tests. `synthetic` is a machine described in hwloc's own words, such as
// "node:2 core:2 pu:2"; null means this one.
Topology topology_without_smt(const CpuSet& allowed);
Topology topology_by_hwloc(const CpuSet& allowed, const char* synthetic = nullptr);

}  // namespace weft::rt
