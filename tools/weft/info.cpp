#include "info.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>

#include "config/option_table.hpp"
#include "env.hpp"
#include "libraries.hpp"
#include "machine.hpp"
#include "report.hpp"
#include "weft/weft.h"

namespace weft::command {
namespace {

Report option(const std::string& name, const std::string& value, const std::string& source) {
  Report result = Report::object();
  result.add("name", name);
  result.add("value", value);
  result.add("source", source);
  return result;
}

// What an OpenMP program has where nothing is said: other than what the core has by itself.
struct OpenMpDefault {
  const char* name;
  const char* value;
};
constexpr OpenMpDefault kOpenMpDefaults[] = {{"WEFT_PREEMPTION", "auto"}, {"WEFT_BLOCKING", "auto"}, {"WEFT_WORKERS_BIND", "off"}};

void add_core_options(Report& list) {
  for (const rt::Option& row : rt::option_table()) {
    const char* text = std::getenv(row.name);
    rt::OptionValue value;
    const bool allowed = text != nullptr && rt::parse_option(row, text, value);
    std::string standard = row.standard;
    for (const auto& [name, other] : kOpenMpDefaults) {
      if (std::string_view(name) == row.name) standard = fmt::format("{}; OpenMP: {}", row.standard, other);
    }
    list.add(option(row.name, allowed ? text : standard,
                    allowed ? "environment" : text != nullptr ? "default: what the environment says is not allowed" : "default"));
  }
}

const char* from_environment(const char* name) { return std::getenv(name); }

// The value that is not the default: where it comes from. Other variables can say the same.
std::string source_of(const std::string& name) {
  static constexpr struct {
    const char* name;
    const char* others[4];
  } kOthers[] = {{"OMP_PLACES", {"KMP_AFFINITY", "GOMP_CPU_AFFINITY", "OMP_PROC_BIND", nullptr}},
                 {"OMP_PROC_BIND", {"KMP_AFFINITY", "OMP_PLACES", "GOMP_CPU_AFFINITY", nullptr}},
                 {"OMP_STACKSIZE", {"KMP_STACKSIZE", "GOMP_STACKSIZE", nullptr, nullptr}},
                 {"OMP_WAIT_POLICY", {"KMP_BLOCKTIME", "GOMP_SPINCOUNT", "KMP_LIBRARY", nullptr}},
                 {"OMP_THREAD_LIMIT", {"KMP_ALL_THREADS", "KMP_DEVICE_THREAD_LIMIT", "KMP_MAX_THREADS", "KMP_LIBRARY"}},
                 {"OMP_TEAMS_THREAD_LIMIT", {"KMP_TEAMS_THREAD_LIMIT", nullptr, nullptr, nullptr}}};
  if (std::getenv(name.c_str()) != nullptr) return "environment";
  for (const auto& row : kOthers) {
    if (name != row.name) continue;
    for (const char* other : row.others) {
      if (other != nullptr && std::getenv(other) != nullptr) return std::string("environment: ") + other;
    }
  }
  return "environment: follows from others";
}

void add_openmp_options(Report& list) {
  const omp::Machine machine = omp::this_machine();
  omp::Device device, standard;
  std::string messages, none;
  omp::read_environment(device, machine, from_environment, messages);
  omp::read_environment(standard, machine, [](const char*) -> const char* { return nullptr; }, none);
  std::fputs(messages.c_str(), stderr);
  const auto defaults = omp::shown_values(standard, true);
  for (const omp::Shown& shown : omp::shown_values(device, true)) {
    const bool changed = std::none_of(defaults.begin(), defaults.end(), [&](const omp::Shown& other) {
      return other.name == shown.name && other.value == shown.value;
    });
    const bool refused = messages.find("weft: " + shown.name + "=") != std::string::npos;
    const bool said = std::getenv(shown.name.c_str()) != nullptr && !refused;
    list.add(option(shown.name, shown.value, changed || said ? source_of(shown.name)
                                             : refused       ? "default: what the environment says is not allowed"
                                                             : "default"));
  }
}

}  // namespace

int info(bool json) {
  Report options = Report::list();
  add_openmp_options(options);
  add_core_options(options);
  const std::string libraries = library_directory();
  Report report = Report::object();
  report.add("version", ::weft_version());
  report.add("libraries", libraries.empty() ? Report::none() : Report(libraries));
  report.add("machine", describe_machine());
  report.add("kernel features", describe_kernel());
  report.add("options", std::move(options));
  fmt::print("{}", json ? report.json() + "\n" : report.text());
  return std::fflush(stdout) == 0 ? 0 : 1;
}

}  // namespace weft::command
