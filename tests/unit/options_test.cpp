// The option table: defaults, every type, and what happens to a bad value.

#include "config/options.hpp"

#include <gtest/gtest.h>
#include <signal.h>

#include <cstdlib>
#include <fstream>
#include <map>
#include <set>
#include <sstream>

#include "config/option_table.hpp"

namespace weft::rt {
namespace {

std::map<std::string, std::string>& values() {
  static std::map<std::string, std::string> instance;
  return instance;
}

const char* from_values(const char* name) {
  const auto found = values().find(name);
  return found == values().end() ? nullptr : found->second.c_str();
}

Options read(std::map<std::string, std::string> environment) {
  values() = std::move(environment);
  return read_options(from_values);
}

// What `read` writes to standard error.
std::string complaint(std::map<std::string, std::string> environment) {
  testing::internal::CaptureStderr();
  read(std::move(environment));
  return testing::internal::GetCapturedStderr();
}

std::vector<int> cpus_of(const Options& options) {
  const CpuList& list = options.workers_cpus;
  return {list.cpus.begin(), list.cpus.begin() + list.size};
}

TEST(Options, Defaults) {
  const Options options = read({});
  EXPECT_EQ(options.workers_count, 0);
  EXPECT_TRUE(options.workers_bind);
  EXPECT_EQ(options.workers_cpus.size, 0);
  EXPECT_EQ(options.idle_spin_us, 20);
  EXPECT_EQ(options.stack_size, 128u << 10);
  EXPECT_EQ(options.stack_guard, StackGuard::Auto);
  EXPECT_FALSE(options.stack_watermark);
  EXPECT_EQ(options.huge_pages, HugePages::Off);
  EXPECT_EQ(options.klt_spare, 2);
  EXPECT_EQ(options.dump_signal, 0);
  EXPECT_EQ(complaint({}), "");
}

TEST(Options, EveryDefaultIsAllowedAndEveryNameIsUnique) {
  std::set<std::string> names;
  for (const Option& option : option_table()) {
    OptionValue value;
    EXPECT_TRUE(parse_option(option, option.standard, value)) << option.name;
    EXPECT_TRUE(names.insert(option.name).second) << option.name;
    EXPECT_EQ(std::string(option.name).rfind("WEFT_", 0), 0u);
    EXPECT_FALSE(describe_allowed(option).empty()) << option.name;
  }
}

TEST(Options, ValuesOfEachType) {
  const Options options = read({{"WEFT_WORKERS_COUNT", "7"},
                                {"WEFT_WORKERS_BIND", "OFF"},
                                {"WEFT_WORKERS_CPUS", "5,0,2-4"},
                                {"WEFT_IDLE_SPIN", "0"},
                                {"WEFT_STACK_SIZE", "2m"},
                                {"WEFT_STACK_GUARD", "mprotect"},
                                {"WEFT_STACK_WATERMARK", "1"},
                                {"WEFT_HUGE_PAGES", "explicit"},
                                {"WEFT_KLT_SPARE", "0"}});
  EXPECT_EQ(options.workers_count, 7);
  EXPECT_FALSE(options.workers_bind);
  EXPECT_EQ(cpus_of(options), (std::vector<int>{5, 0, 2, 3, 4}));
  EXPECT_EQ(options.idle_spin_us, 0);
  EXPECT_EQ(options.stack_size, 2u << 20);
  EXPECT_EQ(options.stack_guard, StackGuard::Mprotect);
  EXPECT_TRUE(options.stack_watermark);
  EXPECT_EQ(options.huge_pages, HugePages::Explicit);
  EXPECT_EQ(options.klt_spare, 0);
}

TEST(Options, AutoIsAWordForTheNumberOfWorkers) {
  EXPECT_EQ(read({{"WEFT_WORKERS_COUNT", "auto"}}).workers_count, 0);
  EXPECT_NE(complaint({{"WEFT_WORKERS_COUNT", "0"}}), "");
}

TEST(Options, SizesWithAndWithoutUnit) {
  EXPECT_EQ(read({{"WEFT_STACK_SIZE", "65536"}}).stack_size, 65536u);
  EXPECT_EQ(read({{"WEFT_STACK_SIZE", "16K"}}).stack_size, 16384u);
  EXPECT_EQ(read({{"WEFT_STACK_SIZE", "1G"}}).stack_size, 1u << 30);
}

TEST(Options, SignalsByNameAndByNumber) {
  const std::pair<const char*, int> good[] = {{"USR2", SIGUSR2},     {"SIGUSR1", SIGUSR1},
                                              {"sigquit", SIGQUIT},  {"12", 12},
                                              {"RTMIN+3", SIGRTMIN + 3}, {"sigrtmin+0", SIGRTMIN},
                                              {"off", 0}};
  for (const auto& [text, signal] : good) {
    EXPECT_EQ(read({{"WEFT_DUMP_SIGNAL", text}}).dump_signal, signal) << text;
  }
}

TEST(Options, ABadValueIsNamedWithWhatIsAllowedAndTheDefaultStands) {
  testing::internal::CaptureStderr();
  const Options options = read({{"WEFT_STACK_SIZE", "8K"}});
  EXPECT_EQ(
      testing::internal::GetCapturedStderr(),
      "weft: WEFT_STACK_SIZE=\"8K\" is not allowed; it takes a size from 16K to 64G (bytes, or "
      "with K, M or G). Using the default, 128K.\n");
  EXPECT_EQ(options.stack_size, 128u << 10);
}

TEST(Options, BadValuesOfEachType) {
  const std::pair<const char*, const char*> bad[] = {
      {"WEFT_WORKERS_COUNT", ""},         {"WEFT_WORKERS_COUNT", "-1"},
      {"WEFT_WORKERS_COUNT", "4097"},     {"WEFT_WORKERS_COUNT", "2 "},
      {"WEFT_WORKERS_COUNT", "2x"},       {"WEFT_WORKERS_COUNT", "99999999999999999999"},
      {"WEFT_WORKERS_BIND", "maybe"},     {"WEFT_WORKERS_BIND", ""},
      {"WEFT_WORKERS_CPUS", "1,"},        {"WEFT_WORKERS_CPUS", ",1"},
      {"WEFT_WORKERS_CPUS", "3-1"},       {"WEFT_WORKERS_CPUS", "1-"},
      {"WEFT_WORKERS_CPUS", "8192"},      {"WEFT_WORKERS_CPUS", "0-8000"},
      {"WEFT_STACK_SIZE", "128KB"},       {"WEFT_STACK_SIZE", "K"},
      {"WEFT_STACK_SIZE", "9999999999G"}, {"WEFT_STACK_GUARD", "page"},
      {"WEFT_DUMP_SIGNAL", "KILL"},       {"WEFT_DUMP_SIGNAL", "SEGV"},
      {"WEFT_DUMP_SIGNAL", "32"},         {"WEFT_DUMP_SIGNAL", "0"},
      {"WEFT_DUMP_SIGNAL", "RTMIN+99"},   {"WEFT_DUMP_SIGNAL", "SIG"},
  };
  for (const auto& [name, text] : bad) {
    const std::string said = complaint({{name, text}});
    EXPECT_NE(said.find(name), said.npos) << name << "=" << text;
    EXPECT_NE(said.find(std::string("\"") + text + "\""), said.npos) << said;
  }
}

TEST(Options, ABadListLeavesNoPartOfItself) {
  testing::internal::CaptureStderr();
  EXPECT_EQ(read({{"WEFT_WORKERS_CPUS", "1,2,x"}}).workers_cpus.size, 0);
  testing::internal::GetCapturedStderr();
}

TEST(Options, ComeFromTheEnvironment) {
  ::setenv("WEFT_KLT_SPARE", "9", 1);
  EXPECT_EQ(read_options().klt_spare, 9);
  ::unsetenv("WEFT_KLT_SPARE");
  EXPECT_EQ(read_options().klt_spare, 2);
}

TEST(Options, HelpNamesEveryOption) {
  const std::string help = options_help();
  for (const Option& option : option_table()) {
    EXPECT_NE(help.find(option.name), help.npos) << option.name;
  }
}

// To renew the page after a change of the table, run this test with WEFT_RENEW_DOCS=1.
TEST(Options, ThePageMatchesTheTable) {
  const std::string path = WEFT_SOURCE_DIR "/docs/options.md";
  if (std::getenv("WEFT_RENEW_DOCS") != nullptr) std::ofstream(path) << options_markdown();
  std::ostringstream page;
  page << std::ifstream(path).rdbuf();
  EXPECT_EQ(page.str(), options_markdown())
      << "renew it: WEFT_RENEW_DOCS=1 build/release/tests/unit_options_test";
}

}  // namespace
}  // namespace weft::rt
