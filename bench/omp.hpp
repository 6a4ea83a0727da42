// omp.hpp: what the OpenMP benchmarks (omp_*) share. One source each for all libraries: what
// differs is the compiler, and the runtime that the program finds.
//
// A runtime reads its settings, and counts its CPUs, when it is loaded. So a program starts itself
// again, with the CPUs and the environment of the run: once for each setting of the library that is
// tried. The fastest is reported, and named. A benchmark with a parameter `wait` asks for one of
// the ways to wait, and the others are not tried; Weft is run with its defaults alone.
#ifndef WEFT_BENCH_OMP_HPP
#define WEFT_BENCH_OMP_HPP

#include <omp.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include <string_view>

#include "harness.hpp"

namespace bench {

inline constexpr std::string_view kLibrary = BENCH_LIBRARY;
inline constexpr bool kIsWeft = kLibrary.substr(0, 4) == "weft";

// Set where the program has been started by itself: the name of the setting.
inline constexpr const char* kSettingVariable = "BENCH_OMP_SETTING";

struct OmpBenchmark {
  Params defaults;
  int levels;  // how deep regions are nested
  Sample (*measure)(const Setup&);
};

struct Setting {
  std::string name;
  Params environment;

  Setting with(const char* more, const Params& variables) const {
    Setting result{name.empty() ? more : name + ", " + more, environment};
    result.environment.insert(variables.begin(), variables.end());
    return result;
  }
};

inline std::vector<Setting> settings_of_wait(const Setup& setup) {
  if (setup.has("wait")) {
    const std::string& wait = setup.text("wait");
    check(wait == "active" || wait == "passive" || wait == "hybrid", "wait=active|hybrid|passive");
    const Params policy{{"OMP_WAIT_POLICY", wait}};
    // What comes without being asked for is each library's mixture: it looks for a while, then
    // sleeps.
    return {wait == "hybrid" ? Setting{} : Setting{"", policy}};
  }
  if (kIsWeft) {
    return {Setting{}};
  }
  std::vector<Setting> settings{{"default wait policy", {}},
                                {"passive", {{"OMP_WAIT_POLICY", "passive"}}}};
  if (setup.workers() <= static_cast<int>(cpus.size())) {  // else it is nobody's best, by far
    settings.push_back({"active", {{"OMP_WAIT_POLICY", "active"}}});
  }
  return settings;
}

// The settings to try, of which the fastest counts.
inline std::vector<Setting> settings_to_try(const Setup& setup, int levels) {
  std::vector<Setting> settings = settings_of_wait(setup);
  if (kIsWeft && setup.has("identity")) {
    settings[0] = settings[0].with("", {{"WEFT_OMP_IDENTITY", setup.text("identity")}});
  }
  if (kLibrary == "libomp" && levels > 1) {
    const Params hot{{"KMP_HOT_TEAMS_MAX_LEVEL", std::to_string(levels)},
                     {"KMP_HOT_TEAMS_MODE", "1"}};
    for (size_t i = 0, n = settings.size(); i < n; ++i) {
      settings.push_back(settings[i].with("hot teams at every level", hot));
    }
  }
  return settings;
}

// This program again, with a setting.
[[noreturn]] inline void become(const Setting& setting, char** argv) {
  for (const auto& [name, value] : setting.environment) {
    setenv(name.c_str(), value.c_str(), 1);
  }
  setenv(kSettingVariable, setting.name.c_str(), 1);
  execv("/proc/self/exe", argv);
  fail("execv");
}

// What it prints then; nothing where it fails.
inline std::string output_of(const Setting& setting, char** argv) {
  int ends[2];
  check(pipe(ends) == 0, "pipe");
  const pid_t child = fork();
  check(child >= 0, "fork");
  if (child == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    dup2(ends[1], STDOUT_FILENO);
    close(ends[0]);
    close(ends[1]);
    become(setting, argv);
  }
  close(ends[1]);
  std::string text;
  char piece[4096];
  for (ssize_t got = 0; (got = read(ends[0], piece, sizeof piece)) > 0;) {
    text.append(piece, static_cast<size_t>(got));
  }
  close(ends[0]);
  int status = 0;
  waitpid(child, &status, 0);
  return status == 0 ? text : std::string();
}

inline int try_settings(const std::vector<Setting>& settings, char** argv) {
  if (settings.size() == 1) {
    become(settings[0], argv);
  }
  constexpr std::string_view kValue = "\"value\": ";
  std::string best;
  double least = 0;
  for (const Setting& setting : settings) {
    const std::string text = output_of(setting, argv);
    const size_t at = text.find(kValue);
    if (at == std::string::npos) {
      continue;
    }
    const double value = std::strtod(text.c_str() + at + kValue.size(), nullptr);
    if (best.empty() || value < least) {
      best = text;
      least = value;
    }
  }
  check(!best.empty(), "with every setting");
  std::fputs(best.c_str(), stdout);
  return 0;
}

// main() of every OpenMP benchmark.
inline int omp_main(int argc, char** argv, const OmpBenchmark& benchmark) {
  const Setup setup(argc, argv, benchmark.defaults);
  const char* setting = std::getenv(kSettingVariable);
  if (setting == nullptr) {
    return try_settings(settings_to_try(setup, benchmark.levels), argv);
  }
  omp_set_num_threads(setup.workers());
  if (benchmark.levels > 1 && std::getenv("OMP_MAX_ACTIVE_LEVELS") == nullptr) {
    omp_set_max_active_levels(benchmark.levels);
  }
  setup.report("ns", benchmark.measure(setup), {}, setting);
  return 0;
}

// A region that the compiler cannot see to be empty.
inline void nothing() { asm volatile("" ::: "memory"); }

}  // namespace bench

#endif  // WEFT_BENCH_OMP_HPP
