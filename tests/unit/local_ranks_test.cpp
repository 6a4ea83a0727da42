// The other processes of an MPI job on the same machine: how many there are, and which CPUs each of them has.

#include "os/local_ranks.hpp"

#include <gtest/gtest.h>
#include <unistd.h>
#include <weft/weft.h>

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <map>
#include <string>

namespace weft::rt {
namespace {

constexpr double kNoQuota = std::numeric_limits<double>::infinity();

LocalRanks told(std::map<std::string, std::string> given) {
  static std::map<std::string, std::string> variables;
  variables = std::move(given);
  return local_ranks(+[](const char* name) -> char* {
    const auto found = variables.find(name);
    return found != variables.end() ? found->second.data() : nullptr;
  });
}

CpuSet first_cpus(int count) {
  CpuSet set;
  for (int cpu = 0; cpu < count; ++cpu) set.add(cpu);
  return set;
}

std::vector<int> cpus_of(const CpuShare& share) {
  std::vector<int> cpus;
  for (const Pu& pu : share.pus) cpus.push_back(pu.cpu);
  return cpus;
}

using Cpus = std::vector<int>;

TEST(LocalRanks, AsTheirLaunchersTell) {
  for (const auto& [count, rank] : {std::pair{"OMPI_COMM_WORLD_LOCAL_SIZE", "OMPI_COMM_WORLD_LOCAL_RANK"},
                                    std::pair{"MPI_LOCALNRANKS", "MPI_LOCALRANKID"},
                                    std::pair{"MV2_COMM_WORLD_LOCAL_SIZE", "MV2_COMM_WORLD_LOCAL_RANK"}}) {
    const LocalRanks ranks = told({{count, "4"}, {rank, "3"}});
    EXPECT_EQ(ranks.count, 4) << count;
    EXPECT_EQ(ranks.rank, 3) << rank;
  }
}

TEST(LocalRanks, OneWhereNothingIsTold) {
  EXPECT_EQ(told({}).count, 1);
  for (const char* wrong : {"", "0", "-2", "two", "2 ", "99999999999999"})
    EXPECT_EQ(told({{"MPI_LOCALNRANKS", wrong}}).count, 1) << wrong;
}

TEST(LocalRanks, SeveralProgramsAreNotTakenToNeedTheSame) {
  std::map<std::string, std::string> variables{{"OMPI_COMM_WORLD_LOCAL_SIZE", "4"}, {"OMPI_NUM_APP_CTX", "2"}};
  EXPECT_EQ(told(variables).count, 1);
  variables["OMPI_NUM_APP_CTX"] = "1";
  EXPECT_EQ(told(variables).count, 4);
}

TEST(LocalRanks, ARankThatCannotBeIsNotKnown) {
  for (const char* wrong : {"", "2", "-7", "x"}) {
    const LocalRanks ranks = told({{"MPI_LOCALNRANKS", "2"}, {"MPI_LOCALRANKID", wrong}});
    EXPECT_EQ(ranks.count, 2);
    EXPECT_EQ(ranks.rank, -1) << wrong;
  }
}

TEST(CpuShare, AllOfOneRank) {
  const Topology topology = topology_without_smt(first_cpus(4));
  EXPECT_EQ(cpus_of(cpu_share(topology, {1, 0}, 4)), (Cpus{0, 1, 2, 3}));
  EXPECT_EQ(cpus_of(cpu_share(topology, {}, 0)), (Cpus{0, 1, 2, 3}));
  EXPECT_EQ(cpu_share(Topology{}, {2, 0}, 0).size, 1);
}

TEST(CpuShare, RanksThatAreNotBoundHaveEachCpuOnce) {
  for (const int cpus : {1, 2, 3, 8, 64}) {
    const Topology topology = topology_without_smt(first_cpus(cpus));
    for (int count = 1; count <= cpus; ++count) {
      Cpus all;
      for (int rank = 0; rank < count; ++rank) {
        const CpuShare share = cpu_share(topology, {count, rank}, cpus);
        EXPECT_EQ(share.size, static_cast<int>(share.pus.size()));
        EXPECT_GE(share.size, cpus / count);
        for (const int cpu : cpus_of(share)) all.push_back(cpu);
      }
      std::sort(all.begin(), all.end());
      EXPECT_EQ(static_cast<int>(all.size()), cpus) << count;
      EXPECT_EQ(std::unique(all.begin(), all.end()), all.end()) << count;
    }
  }
}

TEST(CpuShare, MoreRanksThanCpusHaveOneEach) {
  const Topology topology = topology_without_smt(first_cpus(2));
  for (int rank = 0; rank < 5; ++rank) EXPECT_EQ(cpus_of(cpu_share(topology, {5, rank}, 2)), Cpus{rank * 2 / 5});
}

TEST(CpuShare, CoresAreNotTornApart) {
  // CPUs 0 to 3 are two cores of the first node, 4 to 7 two of the second.
  const Topology topology = topology_by_hwloc(first_cpus(8), "node:2 core:2 pu:2");
  ASSERT_EQ(topology.pus.size(), 8u);
  EXPECT_EQ(cpus_of(cpu_share(topology, {2, 0}, 8)), (Cpus{0, 2, 1, 3}));
  EXPECT_EQ(cpus_of(cpu_share(topology, {2, 1}, 8)), (Cpus{4, 6, 5, 7}));
  EXPECT_EQ(cpus_of(cpu_share(topology, {4, 1}, 8)), (Cpus{2, 3}));
}

TEST(CpuShare, OfRanksThatAreBoundOnlyThoseThatUseTheSameCpusCount) {
  const Topology one = topology_without_smt(first_cpus(1));
  EXPECT_EQ(cpu_share(one, {8, 5}, 8).size, 1);
  const Topology half = topology_without_smt(first_cpus(8));
  EXPECT_EQ(cpus_of(cpu_share(half, {2, 1}, 16)), (Cpus{0, 1, 2, 3, 4, 5, 6, 7}));
  // Two of the four have this half; which of its CPUs are ours cannot be told.
  const CpuShare share = cpu_share(half, {4, 1}, 16);
  EXPECT_EQ(share.size, 4);
  EXPECT_TRUE(share.pus.empty());
}

TEST(CpuShare, WithoutARankItIsASizeOnly) {
  const CpuShare share = cpu_share(topology_without_smt(first_cpus(6)), {4, -1}, 6);
  EXPECT_EQ(share.size, 1);
  EXPECT_TRUE(share.pus.empty());
}

TEST(CpuShare, TheQuotaIsShared) {
  const CpuShare share = cpu_share(topology_without_smt(first_cpus(16)), {2, 0}, 16);
  EXPECT_EQ(workers_for(share, {2, 0}, kNoQuota), 8);
  EXPECT_EQ(workers_for(share, {2, 0}, 6), 3);
  EXPECT_EQ(workers_for(share, {2, 0}, 5), 3);
  EXPECT_EQ(workers_for(share, {2, 0}, 0.5), 1);
}

// By the public interface.
class RankOfARuntime : public testing::Test {
 protected:
  RankOfARuntime() {
    const Topology* topology = read_topology();
    cpus_ = topology != nullptr ? static_cast<int>(topology->pus.size()) : 1;
    setenv("OMPI_COMM_WORLD_LOCAL_SIZE", std::to_string(cpus_).c_str(), 1);
    setenv("OMPI_COMM_WORLD_LOCAL_RANK", "0", 1);
  }
  ~RankOfARuntime() override {
    unsetenv("OMPI_COMM_WORLD_LOCAL_SIZE");
    unsetenv("OMPI_COMM_WORLD_LOCAL_RANK");
  }
  int cpus_ = 1;
};

TEST_F(RankOfARuntime, HasItsShareOfWorkers) {
  if (cpus_ < sysconf(_SC_NPROCESSORS_ONLN)) GTEST_SKIP() << "not all CPUs are allowed: others would be taken to be bound elsewhere";
  ASSERT_EQ(weft_initialize(nullptr), WEFT_OK);
  EXPECT_EQ(weft_worker_count(), 1u);
  EXPECT_EQ(weft_finalize(), WEFT_OK);
}

TEST_F(RankOfARuntime, HasAsManyAsItAsksFor) {
  weft_options_t options{};
  options.workers = static_cast<unsigned>(cpus_) + 1;
  ASSERT_EQ(weft_initialize(&options), WEFT_OK);
  EXPECT_EQ(weft_worker_count(), options.workers);
  EXPECT_EQ(weft_finalize(), WEFT_OK);
}

}  // namespace
}  // namespace weft::rt
