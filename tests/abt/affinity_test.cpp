// Which CPUs execution streams may use: ABT_xstream_*cpubind, *affinity, and ABT_SET_AFFINITY.
#include <sched.h>

#include <cstdlib>

#include "../frontends/abt/src/affinity_list.hpp"
#include "support/abt_fixture.hpp"

namespace {

using namespace weft_test;
using weft::abt::CpuSets;
using weft::abt::parse_affinity;

TEST(AbtAffinityList, IsReadAsArgobotsReadsIt) {
  EXPECT_EQ(parse_affinity("0"), (CpuSets{{0}}));
  EXPECT_EQ(parse_affinity("3,1,2"), (CpuSets{{3}, {1}, {2}}));
  EXPECT_EQ(parse_affinity("{0,1},{2,3}"), (CpuSets{{0, 1}, {2, 3}}));
  EXPECT_EQ(parse_affinity("0:4"), (CpuSets{{0}, {1}, {2}, {3}}));
  EXPECT_EQ(parse_affinity("0:3:2"), (CpuSets{{0}, {2}, {4}}));
  EXPECT_EQ(parse_affinity("{0:4}:2:4"), (CpuSets{{0, 1, 2, 3}, {4, 5, 6, 7}}));
  EXPECT_EQ(parse_affinity("{0:2:4,1}:2"), (CpuSets{{0, 4, 1}, {1, 5, 2}}));
  EXPECT_EQ(parse_affinity(" { 0 , -1 } : 2 : -1 , +7 "), (CpuSets{{0, -1}, {-1, -2}, {7}}));
  EXPECT_EQ(parse_affinity("5:3:0"), (CpuSets{{5}, {5}, {5}}));
}

TEST(AbtAffinityList, NothingElseIsOne) {
  for (const char* text : {"", " ", "yes", "0,", ",0", "{0", "0}", "{}", "0:0", "0:-1", "0:", "0:1:", "0:1:2:3", "{{0}}",
                           "0 1", "1e3", "0x1", "99999999999", "0:99999", "{0:1000}:1000"}) {
    EXPECT_TRUE(parse_affinity(text).empty()) << text;
  }
}

std::vector<int> usable_cpus() {
  cpu_set_t set;
  CPU_ZERO(&set);
  EXPECT_EQ(sched_getaffinity(0, sizeof set, &set), 0);
  std::vector<int> cpus;
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (CPU_ISSET(cpu, &set)) cpus.push_back(cpu);
  }
  return cpus;
}

std::vector<int> affinity_of(ABT_xstream xstream) {
  int number = -1;
  EXPECT_TRUE(abt_ok(ABT_xstream_get_affinity(xstream, 0, nullptr, &number)));
  std::vector<int> cpus(static_cast<size_t>(number));
  EXPECT_TRUE(abt_ok(ABT_xstream_get_affinity(xstream, number, cpus.data(), nullptr)));
  return cpus;
}

ABT_xstream create(int rank) {
  ABT_xstream xstream = ABT_XSTREAM_NULL;
  EXPECT_TRUE(abt_ok(ABT_xstream_create_with_rank(ABT_SCHED_NULL, rank, &xstream)));
  return xstream;
}

class AbtAffinity : public AbtTestWith {
 protected:
  AbtAffinity() : AbtTestWith("ABT_SET_AFFINITY", "no"), all(usable_cpus()) {}
  const std::vector<int> all;
};

TEST_F(AbtAffinity, IsSetAndTold) {
  ABT_xstream xstream = create(1);
  EXPECT_EQ(affinity_of(xstream), all);
  int cpu = -1;
  EXPECT_TRUE(abt_fails(kAbt20 ? ABT_ERR_CPUID : ABT_ERR_FEATURE_NA, ABT_xstream_get_cpubind(xstream, &cpu)));
  EXPECT_TRUE(abt_ok(ABT_xstream_set_cpubind(xstream, all.back())));
  EXPECT_TRUE(abt_ok(ABT_xstream_get_cpubind(xstream, &cpu)));
  EXPECT_EQ(cpu, all.back());
  EXPECT_EQ(affinity_of(xstream), std::vector<int>{all.back()});
  // CPUs that are not there are left out, as the kernel does it.
  std::vector<int> more = all;
  more.push_back(8000);
  more.push_back(-3);
  EXPECT_TRUE(abt_ok(ABT_xstream_set_affinity(xstream, static_cast<int>(more.size()), more.data())));
  EXPECT_EQ(affinity_of(xstream), all);
  int nowhere = 8000;
  EXPECT_TRUE(abt_fails(ABT_ERR_CPUID, ABT_xstream_set_affinity(xstream, 1, &nowhere)));
  EXPECT_TRUE(abt_fails(ABT_ERR_CPUID, ABT_xstream_set_cpubind(xstream, nowhere)));
  EXPECT_TRUE(abt_ok(ABT_xstream_set_affinity(xstream, 0, nullptr)));
  EXPECT_EQ(affinity_of(xstream), all);
  EXPECT_TRUE(abt_ok(ABT_xstream_free(&xstream)));
}

// What runs there runs on that CPU.
TEST_F(AbtAffinity, HoldsForUnits) {
  ABT_xstream xstream = create(1);
  for (const int cpu : all) {
    EXPECT_TRUE(abt_ok(ABT_xstream_set_cpubind(xstream, cpu)));
    int seen = -1;
    ABT_thread thread;
    const auto look = [](void* arg) { *static_cast<int*>(arg) = sched_getcpu(); };
    ASSERT_TRUE(abt_ok(ABT_thread_create_on_xstream(xstream, look, &seen, ABT_THREAD_ATTR_NULL, &thread)));
    EXPECT_TRUE(abt_ok(ABT_thread_free(&thread)));
    EXPECT_EQ(seen, cpu);
  }
  EXPECT_TRUE(abt_ok(ABT_xstream_free(&xstream)));
}

TEST_F(AbtAffinity, NullIsRefused) {
  int cpu = 0;
  EXPECT_TRUE(abt_fails(ABT_ERR_INV_XSTREAM, ABT_xstream_set_cpubind(ABT_XSTREAM_NULL, 0)));
  EXPECT_TRUE(abt_fails(ABT_ERR_INV_XSTREAM, ABT_xstream_get_cpubind(ABT_XSTREAM_NULL, &cpu)));
  EXPECT_TRUE(abt_fails(ABT_ERR_INV_XSTREAM, ABT_xstream_set_affinity(ABT_XSTREAM_NULL, 1, &cpu)));
  EXPECT_TRUE(abt_fails(ABT_ERR_INV_XSTREAM, ABT_xstream_get_affinity(ABT_XSTREAM_NULL, 1, &cpu, &cpu)));
}

ABT_bool has_affinity() {
  ABT_bool has = -1;
  EXPECT_TRUE(abt_ok(ABT_info_query_config(ABT_INFO_QUERY_KIND_ENABLED_AFFINITY, &has)));
  return has;
}

TEST_F(AbtAffinity, IsThereWhereItIsNotSetToo) { EXPECT_EQ(has_affinity(), ABT_TRUE); }

// As in Argobots that is not configured with it.
class AbtNoAffinity : public AbtTest {};
TEST_F(AbtNoAffinity, IsToldThatThereIsNone) {
  EXPECT_EQ(has_affinity(), ABT_FALSE);
  ABT_xstream self;
  ASSERT_TRUE(abt_ok(ABT_self_get_xstream(&self)));
  int cpu = usable_cpus().front(), number = 0;
  EXPECT_TRUE(abt_fails(ABT_ERR_FEATURE_NA, ABT_xstream_set_cpubind(self, cpu)));
  EXPECT_TRUE(abt_fails(ABT_ERR_FEATURE_NA, ABT_xstream_get_cpubind(self, &cpu)));
  EXPECT_TRUE(abt_fails(ABT_ERR_FEATURE_NA, ABT_xstream_set_affinity(self, 1, &cpu)));
  EXPECT_TRUE(abt_fails(ABT_ERR_FEATURE_NA, ABT_xstream_get_affinity(self, 1, &cpu, &number)));
  EXPECT_TRUE(abt_fails(ABT_ERR_INV_XSTREAM, ABT_xstream_set_cpubind(ABT_XSTREAM_NULL, cpu)));
}

// Numbers count the CPUs that the process may use; an ES has the entry of its rank.
TEST(AbtSetAffinity, PlacesExecutionStreams) {
  const std::vector<int> all = usable_cpus();
  const int last = all.back();
  const int first = all.front();
  for (const char* name : {"ABT_SET_AFFINITY", "ABT_ENV_SET_AFFINITY"}) {
    setenv(name, "-1,0", 1);
    ASSERT_TRUE(abt_ok(ABT_init(0, nullptr)));
    unsetenv(name);
    ABT_xstream self;
    ASSERT_TRUE(abt_ok(ABT_self_get_xstream(&self)));
    EXPECT_EQ(affinity_of(self), std::vector<int>{last});
    EXPECT_EQ(sched_getcpu(), last);
    ABT_xstream other = create(1);
    EXPECT_EQ(affinity_of(other), std::vector<int>{first});
    EXPECT_TRUE(abt_ok(ABT_xstream_set_rank(other, 2)));
    EXPECT_EQ(affinity_of(other), std::vector<int>{last});
    EXPECT_TRUE(abt_ok(ABT_xstream_free(&other)));
    EXPECT_TRUE(abt_ok(ABT_finalize()));
    EXPECT_EQ(usable_cpus(), all);  // as it was
  }
}

TEST(AbtSetAffinity, IsOnOrOff) {
  const std::vector<int> all = usable_cpus();
  for (const bool on : {false, true}) {
    setenv("ABT_SET_AFFINITY", on ? "yes" : "off", 1);
    ASSERT_TRUE(abt_ok(ABT_init(0, nullptr)));
    ABT_xstream self;
    ASSERT_TRUE(abt_ok(ABT_self_get_xstream(&self)));
    EXPECT_EQ(affinity_of(self), on ? std::vector<int>{all.front()} : all);
    EXPECT_TRUE(abt_ok(ABT_finalize()));
    unsetenv("ABT_SET_AFFINITY");
  }
}

}  // namespace
