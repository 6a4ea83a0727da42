// Which CPUs workers get, and in which order.

#include "os/topology.hpp"

#include <gtest/gtest.h>

#include <limits>
#include <set>
#include <thread>

namespace weft::rt {
namespace {

CpuSet set_of(std::initializer_list<int> cpus) {
  CpuSet set;
  for (const int cpu : cpus) set.add(cpu);
  return set;
}

CpuSet first_cpus(int count) {
  CpuSet set;
  for (int cpu = 0; cpu < count; ++cpu) set.add(cpu);
  return set;
}

std::vector<int> order(const Topology& topology) {
  std::vector<int> cpus;
  for (const Pu& pu : topology.pus) cpus.push_back(pu.cpu);
  return cpus;
}

TEST(Topology, HoldsWhatTheThreadMayUse) {
  CpuSet allowed;
  ASSERT_EQ(get_affinity(allowed), 0);
  const Topology* topology = read_topology();
  ASSERT_NE(topology, nullptr);
  EXPECT_EQ(static_cast<int>(topology->pus.size()), allowed.count());
  std::set<int> seen;
  for (const Pu& pu : topology->pus) {
    EXPECT_TRUE(allowed.contains(pu.cpu));
    EXPECT_TRUE(seen.insert(pu.cpu).second) << pu.cpu << " twice";
  }
  EXPECT_GE(topology->nodes, 1);
}

TEST(Topology, HwlocAgreesOnTheCpus) {
  CpuSet allowed;
  ASSERT_EQ(get_affinity(allowed), 0);
  const Topology by_hwloc = topology_by_hwloc(allowed);
  const std::vector<int> cpus = order(by_hwloc);
  EXPECT_EQ(std::set<int>(cpus.begin(), cpus.end()).size(),
            static_cast<std::size_t>(allowed.count()));
}

TEST(Topology, SpreadsOverCoresFirst) {
  const Topology topology = topology_by_hwloc(first_cpus(8), "node:2 core:2 pu:2");
  EXPECT_EQ(order(topology), (std::vector<int>{0, 2, 4, 6, 1, 3, 5, 7}));
  EXPECT_EQ(topology.nodes, 2);
  EXPECT_EQ(topology.pus[1].node, 0);
  EXPECT_EQ(topology.pus[2].node, 1);
  EXPECT_EQ(topology.pus[0].core, topology.pus[4].core);
}

TEST(Topology, LeavesOutWhatTheMaskLeavesOut) {
  const Topology topology = topology_by_hwloc(set_of({1, 2, 3, 7}), "node:2 core:2 pu:2");
  EXPECT_EQ(order(topology), (std::vector<int>{1, 2, 7, 3}));
}

TEST(Topology, WithoutSmtEachCpuIsACore) {
  const Topology topology = topology_without_smt(set_of({0, 3, 5000}));
  EXPECT_EQ(order(topology), (std::vector<int>{0, 3, 5000}));
  EXPECT_EQ(topology.nodes, 1);
}

TEST(Topology, ABadDescriptionGivesNothing) {
  EXPECT_TRUE(topology_by_hwloc(first_cpus(4), "nonsense").pus.empty());
}

TEST(Topology, IsReadOncePerAffinityMask) {
  std::thread([] {  // a thread of its own: the mask is changed
    const Topology* all = read_topology();
    ASSERT_NE(all, nullptr);
    EXPECT_EQ(all, read_topology());
    const int cpu = all->pus.back().cpu;
    ASSERT_EQ(bind_thread(cpu), 0);
    const Topology* one = read_topology();
    ASSERT_NE(one, nullptr);
    EXPECT_EQ(order(*one), std::vector<int>{cpu});
  })
      .join();
}

TEST(Topology, AffinityCanBeGivenBack) {
  std::thread([] {
    CpuSet before;
    CpuSet after;
    ASSERT_EQ(get_affinity(before), 0);
    ASSERT_EQ(bind_thread(read_topology()->pus.front().cpu), 0);
    ASSERT_EQ(get_affinity(after), 0);
    EXPECT_EQ(after.count(), 1);
    ASSERT_EQ(set_affinity(before), 0);
    ASSERT_EQ(get_affinity(after), 0);
    EXPECT_TRUE(before == after);
  }).join();
}

TEST(Topology, BindingToACpuThatIsNotThereFails) {
  std::thread([] { EXPECT_EQ(bind_thread(kMaxCpus - 1), EINVAL); }).join();
}

TEST(Topology, SelectKeepsTheOrderAskedFor) {
  const Topology topology = topology_without_smt(first_cpus(4));
  const std::vector<Pu> selected = select_pus(topology, {3, 9, 1});
  ASSERT_EQ(selected.size(), 2u);
  EXPECT_EQ(selected[0].cpu, 3);
  EXPECT_EQ(selected[1].cpu, 1);
}

TEST(Topology, UsableCpusFollowsTheQuota) {
  const Topology topology = topology_without_smt(first_cpus(8));
  EXPECT_EQ(usable_cpus(topology, std::numeric_limits<double>::infinity()), 8);
  EXPECT_EQ(usable_cpus(topology, 100), 8);
  EXPECT_EQ(usable_cpus(topology, 2.5), 3);
  EXPECT_EQ(usable_cpus(topology, 2), 2);
  EXPECT_EQ(usable_cpus(topology, 0.1), 1);
  EXPECT_EQ(usable_cpus(Topology{}, 4), 1);
}

}  // namespace
}  // namespace weft::rt
