// Memory that one worker uses: pages of its own, touched first where it runs. A machine with one node shows
// who touches what first, and that the kernel takes our orders; not what it does with them.
#include "os/numa.hpp"

#include <gtest/gtest.h>
#include <linux/mempolicy.h>
#include <sched.h>

#include <vector>

#include "os/topology.hpp"
#include "support/memory_map.hpp"
#include "support/runtime_fixture.hpp"
#include "unit/stack_batch.hpp"
#include "worker/runtime.hpp"
#include "worker/worker.hpp"

namespace weft::rt {
namespace {

using namespace weft_test;

int policy() {
  int mode = -1;
  return syscall(SYS_get_mempolicy, &mode, nullptr, 0, nullptr, 0) == 0 ? mode : -1;
}

int node_here() {
  unsigned cpu = 0;
  unsigned node = 0;
  EXPECT_EQ(syscall(SYS_getcpu, &cpu, &node, nullptr), 0);
  return static_cast<int>(node);
}

TEST(Numa, TheNodeOfTheCallingThread) {
  const Topology* topology = read_topology();
  ASSERT_NE(topology, nullptr);
  for (const Pu& pu : topology->pus) {
    ASSERT_EQ(bind_thread(pu.cpu), 0);
    EXPECT_EQ(current_node(), static_cast<unsigned>(pu.node) % kNodes);
  }
  CpuSet all;
  for (const Pu& pu : topology->pus) all.add(pu.cpu);
  ASSERT_EQ(set_affinity(all), 0);
}

TEST(Numa, PreferNodeLastsAsLongAsItLives) {
  if (policy() != MPOL_DEFAULT) GTEST_SKIP() << "the kernel does not say, or somebody has set a policy";
  const int node = node_here();
  {
    const PreferNode prefer(node);
    if (policy() == MPOL_DEFAULT) GTEST_SKIP() << "this kernel, or container, does not allow it";
    EXPECT_EQ(policy(), MPOL_PREFERRED);
    std::vector<char> memory(size_t{1} << 20, 1);
    EXPECT_EQ(node_of_page(&memory[500000]), node);
    {
      const PreferNode inner(node);  // finds a policy, and leaves it alone
    }
    EXPECT_EQ(policy(), MPOL_PREFERRED);
  }
  EXPECT_EQ(policy(), MPOL_DEFAULT);
}

TEST(Numa, NoNodeMeansNothing) {
  const int before = policy();
  const PreferNode none(-1);
  const PreferNode mad(1 << 20);
  EXPECT_EQ(policy(), before);
}

TEST(Numa, APolicyOfTheUsersIsLeftAlone) {
  const int node = node_here();
  unsigned long nodes[2] = {};
  nodes[node / 64] = 1ul << (node % 64);
  if (syscall(SYS_set_mempolicy, MPOL_INTERLEAVE, nodes, 129) != 0) GTEST_SKIP() << "not allowed here";
  {
    const PreferNode prefer(node);
    EXPECT_EQ(policy(), MPOL_INTERLEAVE);
  }
  EXPECT_EQ(policy(), MPOL_INTERLEAVE);
  ASSERT_EQ(syscall(SYS_set_mempolicy, MPOL_DEFAULT, nullptr, 0), 0);
}

TEST(WorkerMemory, TheCreatorTouchesTheRecordOnly) {
  Worker* worker = worker_map();
  ASSERT_NE(worker, nullptr);
  const Lane& lane = worker->lane;
  EXPECT_EQ(reinterpret_cast<uintptr_t>(worker) % 4096, 0u);
  EXPECT_TRUE(page_present(worker));
  const char* const from = reinterpret_cast<const char*>(lane.slots);
  for (size_t at = 0; at < Lane::kFirstBytes; at += 4096) EXPECT_FALSE(page_present(from + at)) << at;
  worker->lane.open_forks(false);  // as for a scheduler of another pool
  worker->lane.open_forks(true);
  for (size_t at = 0; at < Lane::kFirstBytes; at += 4096) EXPECT_FALSE(page_present(from + at)) << at;
  Unit unit;
  worker->lane.push_private(&unit);
  EXPECT_TRUE(page_present(from));
  EXPECT_EQ(worker->lane.pop_private(), &unit);
  worker_unmap(worker);
}

TEST(WorkerMemory, NoTwoShareAPage) {
  Worker* a = worker_map();
  Worker* b = worker_map();
  ASSERT_NE(a, nullptr);
  ASSERT_NE(b, nullptr);
  const auto from = [](const Worker* w) { return reinterpret_cast<uintptr_t>(w); };
  const auto to = [](const Worker* w) { return reinterpret_cast<uintptr_t>(w->lane.slots) + Lane::kFirstBytes; };
  EXPECT_TRUE(to(a) <= from(b) || to(b) <= from(a));
  worker_unmap(a);
  worker_unmap(b);
}

TEST(WorkerMemory, GrowsAndGoesBackWhole) {
  Worker* worker = worker_map();
  ASSERT_NE(worker, nullptr);
  Unit** const first = worker->lane.slots;
  std::vector<Unit> units(5000);
  for (Unit& unit : units) worker->lane.push_private(&unit);
  EXPECT_NE(worker->lane.slots, first);
  for (Unit& unit : units) EXPECT_EQ(worker->lane.pop_private(), &unit);
  worker_unmap(worker);
}

// Everything that a running worker uses of its own lies on the node where it runs.
TEST(WorkerMemory, LiesWhereTheWorkerRuns) {
  weft_options_t options{};
  options.workers = 2;
  ASSERT_TRUE(ok(weft_initialize(&options)));
  for (unsigned i = 0; i < 2; ++i) {
    weft_unit_attr_t attr = default_attr();
    attr.worker = weft_worker_get(i);
    attr.pinned = true;
    in_ult([i] {
      Worker* worker = runtime.workers[i].load();
      in_ult([] { weft_yield(); });  // uses its ring, a stack and a descriptor
      const int node = node_here();
      if (node_of_page(worker) < 0) GTEST_SKIP() << "the kernel does not say";
      EXPECT_EQ(node_of_page(worker), node);
      EXPECT_EQ(node_of_page(worker->lane.slots), node);
      EXPECT_EQ(node_of_page(worker->sched_stack), node);
      if (Stack* stack = worker->stacks.head) {
        EXPECT_EQ(node_of_page(stack), node);
        EXPECT_EQ(stack->batch->node, current_node());
      }
      if (Unit* unit = worker->units.head) {
        EXPECT_EQ(node_of_page(unit), node);
      }
    }, &attr);
  }
  ASSERT_TRUE(ok(weft_finalize()));
}

}  // namespace
}  // namespace weft::rt
