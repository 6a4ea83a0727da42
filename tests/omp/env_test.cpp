// The environment variables: what they mean together, and what is said about what is not allowed.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <memory>
#include <string>

#include "env.hpp"

namespace {

using namespace weft::omp;

std::map<std::string, std::string> variables;

struct Read {
  Device device;
  std::string messages;
};

// A machine of two sockets with two cores each, with two threads each; CPUs 0 … 7.
Machine two_sockets() {
  Machine machine;
  machine.cpus = {0, 1, 2, 3, 4, 5, 6, 7};
  machine.procs = 8;
  machine.synthetic = "package:2 numa:1 l3:1 core:2 pu:2";
  return machine;
}

std::unique_ptr<Read> read(std::map<std::string, std::string> given, const Machine& machine = two_sockets()) {
  variables = std::move(given);
  auto result = std::make_unique<Read>();
  const EnvSource source = [](const char* name) -> const char* {
    const auto found = variables.find(name);
    return found != variables.end() ? found->second.c_str() : nullptr;
  };
  read_environment(result->device, machine, source, result->messages);
  return result;
}

void expect_warning(const char* name, const char* value) {
  const auto is = read({{name, value}});
  EXPECT_NE(is->messages.find(std::string(name) + "=\"" + value + "\""), std::string::npos) << name << "=" << value;
  EXPECT_EQ(std::count(is->messages.begin(), is->messages.end(), '\n'), 1) << is->messages;
}

TEST(OmpEnv, NothingSetGivesTheMachinesDefaults) {
  const auto is = read({});
  EXPECT_EQ(is->messages, "");
  EXPECT_EQ(is->device.initial.nthreads, 8);
  EXPECT_EQ(is->device.initial.max_active_levels, 1);
  EXPECT_EQ(is->device.initial.thread_limit, kNoThreadLimit);
  EXPECT_EQ(is->device.initial.bind, Bind::kFalse);
  EXPECT_FALSE(is->device.initial.run_sched.given);
  EXPECT_TRUE(is->device.places.empty());
}

TEST(OmpEnv, OthersOfTheSameMpiJobLeaveAShareOfWorkersAndAllThreads) {
  Machine shared = two_sockets();
  shared.share = 2;
  EXPECT_EQ(read({}, shared)->device.share, 2);
  EXPECT_EQ(read({}, shared)->device.initial.nthreads, 8);
  EXPECT_EQ(read({}, shared)->device.procs, 8);
  EXPECT_EQ(read({}, shared)->messages, "");
  EXPECT_NE(read({{"WEFT_OMP_VERBOSE", "true"}}, shared)->messages.find("this one has 2 workers"), std::string::npos);
  EXPECT_EQ(read({{"OMP_PROC_BIND", "false"}}, shared)->device.share, 2);
  // Who says where threads run has thought of the other processes.
  EXPECT_EQ(read({{"OMP_PROC_BIND", "true"}}, shared)->device.share, 8);
  EXPECT_EQ(read({{"OMP_PLACES", "cores"}}, shared)->device.share, 8);
  EXPECT_EQ(read({{"KMP_HW_SUBSET", "1t"}}, shared)->device.share, 4);
  EXPECT_EQ(read({})->device.share, 8);
}

TEST(OmpEnv, AnEmptyValueIsNone) { EXPECT_EQ(read({{"OMP_NUM_THREADS", " "}})->messages, ""); }

TEST(OmpEnv, NumThreadsIsAListForTheLevels) {
  const auto one = read({{"OMP_NUM_THREADS", " 3 "}});
  EXPECT_EQ(one->device.initial.nthreads, 3);
  EXPECT_EQ(one->device.initial.max_active_levels, 1);
  const auto list = read({{"OMP_NUM_THREADS", "4, 3,2"}});
  EXPECT_EQ(list->device.nthreads_list, (std::vector<int>{4, 3, 2}));
  EXPECT_EQ(list->device.initial.nthreads, 4);
  EXPECT_EQ(list->device.initial.max_active_levels, kMostLevels);
  EXPECT_EQ(read({{"OMP_NUM_THREADS", "4,3"}, {"OMP_MAX_ACTIVE_LEVELS", "1"}})->device.initial.max_active_levels, 1);
  for (const char* wrong : {"0", "-1", "x", "4,", "4,,2", "4 2", "99999999999"}) expect_warning("OMP_NUM_THREADS", wrong);
}

TEST(OmpEnv, SchedulesHaveModifiersAndChunks) {
  const auto schedule = [](const char* text) { return read({{"OMP_SCHEDULE", text}})->device.initial.run_sched; };
  EXPECT_EQ(schedule("static").kind, Sched::kStatic);
  EXPECT_EQ(schedule("static").chunk, 0);
  EXPECT_TRUE(schedule("static").given);
  EXPECT_EQ(schedule("Dynamic").chunk, 1);
  EXPECT_EQ(schedule("guided , 7").chunk, 7);
  EXPECT_TRUE(schedule("monotonic:dynamic,2").monotonic);
  EXPECT_EQ(schedule("monotonic : dynamic,2").kind, Sched::kDynamic);
  EXPECT_FALSE(schedule("nonmonotonic:dynamic,2").monotonic);
  EXPECT_EQ(schedule("auto").kind, Sched::kAuto);
  EXPECT_EQ(schedule("trapezoidal,3").kind, Sched::kTrapezoidal);
  EXPECT_EQ(schedule("trapezoidal,3").chunk, 3);
  EXPECT_NE(show_environment(read({{"OMP_SCHEDULE", "trapezoidal"}})->device, false).find("OMP_SCHEDULE = 'TRAPEZOIDAL,1'"), std::string::npos);
  for (const char* wrong : {"fast", "static,0", "static,-1", "static,", "static 4", "late:static", "4"}) expect_warning("OMP_SCHEDULE", wrong);
}

TEST(OmpEnv, SwitchesAndSizes) {
  EXPECT_TRUE(read({{"OMP_DYNAMIC", " TRUE "}})->device.initial.dynamic);
  EXPECT_FALSE(read({{"OMP_DYNAMIC", "false"}})->device.initial.dynamic);
  EXPECT_TRUE(read({{"OMP_CANCELLATION", "1"}})->device.cancel);
  expect_warning("OMP_DYNAMIC", "maybe");
  expect_warning("OMP_CANCELLATION", "true false");
  EXPECT_EQ(read({{"OMP_STACKSIZE", "2000"}})->device.stack_size, 2000u << 10);
  EXPECT_EQ(read({{"OMP_STACKSIZE", "2 m"}})->device.stack_size, 2u << 20);
  EXPECT_EQ(read({{"OMP_STACKSIZE", "131072B"}})->device.stack_size, 131072u);
  EXPECT_EQ(read({{"KMP_STACKSIZE", "1048576"}, {"OMP_STACKSIZE", "2M"}})->device.stack_size, 1u << 20);
  EXPECT_EQ(read({{"GOMP_STACKSIZE", "512"}})->device.stack_size, 512u << 10);
  for (const char* wrong : {"-1", "2X", "2MM", "x", "99999999T"}) expect_warning("OMP_STACKSIZE", wrong);
}

TEST(OmpEnv, Levels) {
  EXPECT_EQ(read({{"OMP_MAX_ACTIVE_LEVELS", "3"}})->device.initial.max_active_levels, 3);
  EXPECT_EQ(read({{"OMP_MAX_ACTIVE_LEVELS", "100000"}})->device.initial.max_active_levels, kMostLevels);
  EXPECT_EQ(read({{"OMP_NESTED", "true"}})->device.initial.max_active_levels, kMostLevels);
  EXPECT_EQ(read({{"OMP_NESTED", "false"}, {"OMP_NUM_THREADS", "2,2"}})->device.initial.max_active_levels, 1);
  expect_warning("OMP_MAX_ACTIVE_LEVELS", "-1");
}

TEST(OmpEnv, Waiting) {
  EXPECT_EQ(read({})->device.wait, WaitPolicy::kHybrid);
  EXPECT_EQ(read({{"OMP_WAIT_POLICY", "PASSIVE"}})->device.wait, WaitPolicy::kPassive);
  EXPECT_EQ(read({{"OMP_WAIT_POLICY", "active"}, {"KMP_BLOCKTIME", "0"}})->device.wait, WaitPolicy::kActive);
  EXPECT_EQ(read({{"KMP_BLOCKTIME", "0"}})->device.wait, WaitPolicy::kPassive);
  EXPECT_EQ(read({{"KMP_BLOCKTIME", "infinite"}})->device.wait, WaitPolicy::kActive);
  EXPECT_EQ(read({{"KMP_BLOCKTIME", "20"}})->device.spin_us, 20000);
  EXPECT_EQ(read({{"GOMP_SPINCOUNT", "infinity"}})->device.wait, WaitPolicy::kActive);
  EXPECT_EQ(read({{"GOMP_SPINCOUNT", "300k"}})->device.wait, WaitPolicy::kHybrid);
  expect_warning("OMP_WAIT_POLICY", "eager");
}

TEST(OmpEnv, BindingIsAListThatMayEndInUnset) {
  const auto on = read({{"OMP_PROC_BIND", "true"}});
  EXPECT_EQ(on->device.initial.bind, Bind::kTrue);
  EXPECT_EQ(on->device.places.size(), 8u);
  const auto off = read({{"OMP_PROC_BIND", "false"}, {"OMP_PLACES", "cores"}});
  EXPECT_EQ(off->device.initial.bind, Bind::kFalse);
  const auto list = read({{"OMP_PROC_BIND", "spread, master,close"}});
  EXPECT_EQ(list->device.bind_list, (std::vector<Bind>{Bind::kSpread, Bind::kPrimary, Bind::kClose}));
  EXPECT_EQ(list->device.initial.max_active_levels, kMostLevels);
  const auto unset = read({{"OMP_PROC_BIND", "spread,unset"}});
  EXPECT_EQ(unset->device.bind_list, (std::vector<Bind>{Bind::kSpread}));
  EXPECT_TRUE(unset->device.bind_unset_after);
  EXPECT_EQ(unset->device.initial.max_active_levels, kMostLevels);
  EXPECT_EQ(on->device.teams_bind, Bind::kSpread);
  EXPECT_EQ(read({{"KMP_TEAMS_PROC_BIND", "close"}})->device.teams_bind, Bind::kClose);
  expect_warning("KMP_TEAMS_PROC_BIND", "close,spread");
  EXPECT_EQ(read({{"OMP_PROC_BIND", "unset"}})->device.bind_list.size(), 0u);
  for (const char* wrong : {"near", "true,close", "close,", "unset,close", "close spread"}) expect_warning("OMP_PROC_BIND", wrong);
}

TEST(OmpEnv, PlacesByName) {
  const auto places = [](const char* text) { return read({{"OMP_PLACES", text}})->device.places; };
  EXPECT_EQ(places("threads").size(), 8u);
  EXPECT_EQ(places(" Cores "), (PlaceList{{0, 1}, {2, 3}, {4, 5}, {6, 7}}));
  EXPECT_EQ(places("cores ( 3 )").size(), 3u);
  EXPECT_EQ(places("sockets"), (PlaceList{{0, 1, 2, 3}, {4, 5, 6, 7}}));
  EXPECT_EQ(places("ll_caches").size(), 2u);
  EXPECT_EQ(places("numa_domains").size(), 2u);
  Machine half = two_sockets();
  half.cpus = {1, 2, 5};
  EXPECT_EQ(read({{"OMP_PLACES", "cores"}}, half)->device.places, (PlaceList{{1}, {2}, {5}}));
  EXPECT_EQ(read({{"OMP_PLACES", "cores"}})->device.initial.bind, Bind::kTrue);
  for (const char* wrong : {"chips", "cores(0)", "cores(x)", "cores(2", "cores 2", "threads,cores"}) expect_warning("OMP_PLACES", wrong);
}

TEST(OmpEnv, PlacesByNumbers) {
  const auto places = [](const char* text) { return read({{"OMP_PLACES", text}})->device.places; };
  EXPECT_EQ(places("{0,1},{2,3}"), (PlaceList{{0, 1}, {2, 3}}));
  EXPECT_EQ(places("{0:2}:4:2"), (PlaceList{{0, 1}, {2, 3}, {4, 5}, {6, 7}}));
  EXPECT_EQ(places("{ 0 : 4 : 2 } , { 1 : 4 : 2 }"), (PlaceList{{0, 2, 4, 6}, {1, 3, 5, 7}}));
  EXPECT_EQ(places("{7}:8:-1").front(), Place{7});
  EXPECT_EQ(places("{0:4,!2}"), (PlaceList{{0, 1, 3}}));
  EXPECT_EQ(places("{0}:4,!{2}"), (PlaceList{{0}, {1}, {3}}));
  EXPECT_EQ(places("3,1"), (PlaceList{{3}, {1}}));
  EXPECT_EQ(places("{6},{7},{8}"), (PlaceList{{6}, {7}}));
  EXPECT_EQ(places("{3:3:-1}"), (PlaceList{{3, 2, 1}}));
  for (const char* wrong : {"{", "{}", "{0", "{0}:0", "{0:}", "{-1}", "{0}{1}", "{100}", "{0},"}) expect_warning("OMP_PLACES", wrong);
}

TEST(OmpEnv, LibgompsAffinity) {
  const auto places = [](const char* text) { return read({{"GOMP_CPU_AFFINITY", text}})->device.places; };
  EXPECT_EQ(places("0-3:2 5 7-6:-1"), (PlaceList{{0}, {2}, {5}, {7}, {6}}));
  EXPECT_EQ(places("1,2"), (PlaceList{{1}, {2}}));
  EXPECT_EQ(read({{"GOMP_CPU_AFFINITY", "1"}, {"OMP_PLACES", "{2}"}})->device.places, (PlaceList{{2}}));
  EXPECT_EQ(read({{"GOMP_CPU_AFFINITY", "1"}})->device.initial.bind, Bind::kTrue);
  expect_warning("GOMP_CPU_AFFINITY", "3-1");
  expect_warning("GOMP_CPU_AFFINITY", "a");
}

TEST(OmpEnv, LibompsAffinity) {
  const auto places = [](const char* text) { return read({{"KMP_AFFINITY", text}})->device.places; };
  EXPECT_EQ(places("granularity=fine,compact,1,0"), (PlaceList{{0}, {2}, {4}, {6}, {1}, {3}, {5}, {7}}));
  EXPECT_EQ(places("granularity=fine,compact"), (PlaceList{{0}, {1}, {2}, {3}, {4}, {5}, {6}, {7}}));
  EXPECT_EQ(places("granularity=fine,scatter"), (PlaceList{{0}, {4}, {2}, {6}, {1}, {5}, {3}, {7}}));
  EXPECT_EQ(places("scatter"), (PlaceList{{0, 1}, {4, 5}, {2, 3}, {6, 7}}));
  EXPECT_EQ(places("compact,0,1"), (PlaceList{{2, 3}, {4, 5}, {6, 7}, {0, 1}}));
  EXPECT_EQ(places("verbose,explicit,proclist=[3,0-4:2,{5,6}]"), (PlaceList{{3}, {0}, {2}, {4}, {5, 6}}));
  const auto none = read({{"KMP_AFFINITY", "none"}, {"OMP_PLACES", "cores"}});
  EXPECT_EQ(none->device.initial.bind, Bind::kFalse);
  EXPECT_TRUE(none->device.places.empty());
  EXPECT_EQ(read({{"KMP_AFFINITY", "compact"}, {"OMP_PLACES", "{2}"}})->device.places.size(), 4u);
  for (const char* wrong : {"dense", "explicit", "granularity=huge,compact", "compact,1,2,3"}) expect_warning("KMP_AFFINITY", wrong);
}

TEST(OmpEnv, APartOfTheMachine) {
  const auto cpus = [](const char* text) { return read({{"KMP_HW_SUBSET", text}})->device.cpus; };
  EXPECT_EQ(cpus("1t"), (Place{0, 2, 4, 6}));
  EXPECT_EQ(cpus("1s,2c,1t"), (Place{0, 2}));
  EXPECT_EQ(cpus("1T,1S,1C"), Place{0});
  EXPECT_EQ(cpus("2sX1c"), (Place{0, 1, 4, 5}));
  EXPECT_EQ(cpus("1socket@1"), (Place{4, 5, 6, 7}));
  EXPECT_EQ(cpus("*s, 1core@1"), (Place{2, 3, 6, 7}));
  EXPECT_EQ(cpus(":1s,3t"), (Place{0, 1, 2}));
  EXPECT_EQ(cpus(":3t@4"), (Place{4, 5, 6}));
  EXPECT_EQ(cpus("1n").size(), 8u);  // of each socket
  EXPECT_EQ(cpus(":1n"), (Place{0, 1, 2, 3}));
  const auto is = read({{"KMP_HW_SUBSET", "1c"}, {"OMP_PLACES", "cores"}});
  EXPECT_EQ(is->messages, "");
  EXPECT_EQ(is->device.places, (PlaceList{{0, 1}, {4, 5}}));
  EXPECT_EQ(is->device.procs, 4);
  EXPECT_EQ(is->device.initial.nthreads, 4);
  // Of what the process may use.
  Machine some = two_sockets();
  some.cpus = {1, 2, 3, 6};
  EXPECT_EQ(read({{"KMP_HW_SUBSET", "1s,1t"}}, some)->device.cpus, (Place{1, 2}));
  for (const char* wrong : {"s", "3s", "2t@1", "1s,1s", "1x", "1s,", "0c", "1c 1t", "4:c", "1q"})
    expect_warning("KMP_HW_SUBSET", wrong);
}

TEST(OmpEnv, TheRest) {
  const auto is = read({{"OMP_THREAD_LIMIT", "9"}, {"KMP_ALL_THREADS", "5"}, {"OMP_DEFAULT_DEVICE", "2"}, {"OMP_NUM_TEAMS", "3"},
                        {"OMP_TEAMS_THREAD_LIMIT", "4"}, {"OMP_MAX_TASK_PRIORITY", "10"}, {"OMP_TARGET_OFFLOAD", "mandatory"},
                        {"OMP_DISPLAY_ENV", "verbose"}, {"OMP_DISPLAY_AFFINITY", "true"}, {"OMP_AFFINITY_FORMAT", "%n"},
                        {"OMP_TOOL", "disabled"}, {"OMP_TOOL_LIBRARIES", "a.so:b.so"}, {"OMP_TOOL_VERBOSE_INIT", "stdout"},
                        {"OMP_DEBUG", "enabled"}, {"WEFT_OMP_IDENTITY", "worker"}, {"WEFT_OMP_STATS", "true"}, {"WEFT_WORKERS", "3"}});
  EXPECT_EQ(is->messages, "");
  EXPECT_EQ(is->device.initial.thread_limit, 9);
  EXPECT_EQ(is->device.initial.default_device, 2);
  EXPECT_EQ(is->device.num_teams, 3);
  EXPECT_EQ(is->device.teams_thread_limit, 4);
  EXPECT_EQ(is->device.max_task_priority, 10);
  EXPECT_EQ(is->device.offload, Offload::kMandatory);
  EXPECT_EQ(is->device.display_env, DisplayEnv::kVerbose);
  EXPECT_FALSE(is->device.tool);
  EXPECT_EQ(is->device.tool_libraries, "a.so:b.so");
  EXPECT_EQ(is->device.tool_verbose_init, "stdout");
  EXPECT_TRUE(is->device.display_affinity);
  EXPECT_EQ(is->device.affinity_format, "%n");
  EXPECT_EQ(is->device.identity, IdentityWish::kWorker);
  EXPECT_TRUE(is->device.stats);
  EXPECT_EQ(is->device.workers, 3);
  EXPECT_EQ(read({{"KMP_ALL_THREADS", "5"}})->device.initial.thread_limit, 5);
  EXPECT_EQ(read({{"OMP_NUM_TEAMS_ALL", "7"}})->device.num_teams, 7);
  expect_warning("OMP_THREAD_LIMIT", "0");
  expect_warning("WEFT_OMP_IDENTITY", "mine");
  EXPECT_EQ(read({{"KMP_WARNINGS", "0"}, {"OMP_THREAD_LIMIT", "0"}})->messages, "");
}

TEST(OmpEnv, IsShownInTheStandardsForm) {
  const auto is = read({{"OMP_NUM_THREADS", "4,2"}, {"OMP_SCHEDULE", "monotonic:dynamic,3"}, {"OMP_PLACES", "cores(2)"}});
  const std::string text = show_environment(is->device, false);
  EXPECT_NE(text.find("OPENMP DISPLAY ENVIRONMENT BEGIN\n  _OPENMP = '"), std::string::npos) << text;
  EXPECT_NE(text.find("  [host] OMP_NUM_THREADS = '4,2'\n"), std::string::npos) << text;
  EXPECT_NE(text.find("OMP_AFFINITY_FORMAT = 'level %L thread %i affinity %A'"), std::string::npos) << text;
  EXPECT_NE(text.find("OMP_SCHEDULE = 'MONOTONIC:DYNAMIC,3'"), std::string::npos) << text;
  EXPECT_NE(text.find("OMP_PLACES = '{0,1},{2,3}'"), std::string::npos) << text;
  EXPECT_EQ(text.substr(text.size() - 31), "OPENMP DISPLAY ENVIRONMENT END\n");
}

}  // namespace
