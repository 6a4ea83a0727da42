// harness.hpp: what every benchmark program shares: command line, pinning, timing, checking, and
// the one line of JSON that run.py reads. It knows nothing of any library.
//
// A program measures once per process: run.py alternates processes, so that a drift of the machine
// falls on all libraries alike. The calibration runs double as warm-up.
#ifndef WEFT_BENCH_HARNESS_HPP
#define WEFT_BENCH_HARNESS_HPP

#include <sched.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <initializer_list>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace bench {

using Params = std::map<std::string, std::string>;

// How a library is set up: for one worker that runs ULTs in order of creation; for fork-join with
// work stealing between all workers; or with several workers, each bound to its CPU, whose ULTs stay
// with them.
enum class Mode { kPlain, kForkJoin, kPinned };

struct Sample {
  double value = 0;  // in the unit that is reported
  double cpu_s = 0;  // CPU seconds of the whole process during the measured part
  double ideal = 0;  // what nobody could be faster than, where that is known
};

[[noreturn]] inline void fail(const char* what) {
  std::fprintf(stderr, "%s/%s: FAILED: %s\n", BENCH_NAME, BENCH_LIBRARY, what);
  std::_Exit(1);  // no destructors: the runtime may be in any state
}

inline void check(bool ok, const char* what) {
  if (!ok) [[unlikely]] {
    fail(what);
  }
}

inline double clock_s(clockid_t clock) {
  timespec now{};
  clock_gettime(clock, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}
inline double wall_s() { return clock_s(CLOCK_MONOTONIC); }
inline double cpu_s() { return clock_s(CLOCK_PROCESS_CPUTIME_ID); }

// The CPUs of this run, one per worker (but see Setup::pin()); filled by Setup.
inline std::vector<int> cpus;

// The calling kernel thread, from now on, to the CPU of that worker.
inline void bind_to_cpu_of(int worker) {
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(cpus.at(static_cast<size_t>(worker)), &one);
  check(sched_setaffinity(0, sizeof one, &one) == 0, "sched_setaffinity");
}

// The command line: --workers N, --seconds S (time to measure), --param key=value.
class Setup {
 public:
  Setup(int argc, char** argv, Params defaults) : params_(std::move(defaults)) {
    for (int i = 1; i + 1 < argc; i += 2) {
      option(argv[i], argv[i + 1]);
    }
    check(argc % 2 == 1, "options come in pairs");
    check(workers_ >= 1, "--workers must be at least 1");
    pin();
  }

  int workers() const { return workers_; }
  double seconds() const { return seconds_; }
  const std::string& text(const char* key) const { return params_.at(key); }
  long number(const char* key) const { return std::strtol(params_.at(key).c_str(), nullptr, 0); }
  bool has(const char* key) const { return params_.count(key) != 0; }

  // One result. `more` are parameters of this row alone, `note` says how it was got.
  void report(const char* unit, Sample sample, const Params& more = {},
              const std::string& note = {}) const {
    Params all = params_;
    all.insert(more.begin(), more.end());
    std::string params;
    for (const auto& [key, value] : all) {
      params += (params.empty() ? "" : ", ") + quoted(key) + ": " + quoted(value);
    }
    const std::string version = note.empty() ? BENCH_VERSION : BENCH_VERSION "; " + note;
    std::printf(
        "{\"benchmark\": \"%s\", \"library\": \"%s\", \"workers\": %d, \"params\": {%s}, "
        "\"unit\": \"%s\", \"value\": %.6g, \"cpu_s\": %.4f, \"ideal\": %.6g, \"version\": %s}\n",
        BENCH_NAME, BENCH_LIBRARY, workers_, params.c_str(), unit, sample.value, sample.cpu_s,
        sample.ideal, quoted(version).c_str());
    std::fflush(stdout);
  }

 private:
  static std::string quoted(const std::string& text) {
    std::string result = "\"";
    for (const char c : text) {
      if (c == '"' || c == '\\') {
        result += '\\';
      }
      result += c;
    }
    return result + "\"";
  }

  void option(const char* name, const char* value) {
    if (std::strcmp(name, "--workers") == 0) {
      workers_ = std::atoi(value);
    } else if (std::strcmp(name, "--seconds") == 0) {
      seconds_ = std::atof(value);
    } else if (std::strcmp(name, "--param") == 0) {
      const std::string pair = value;
      const auto equals = pair.find('=');
      check(equals != std::string::npos, "--param takes key=value");
      const auto entry = params_.find(pair.substr(0, equals));
      check(entry != params_.end(), "unknown parameter");
      entry->second = pair.substr(equals + 1);
    } else {
      fail("unknown option; known: --workers --seconds --param");
    }
  }

  // The first CPUs that we may use, the same ones for every library: as many as workers, unless a
  // parameter `cpus` says that those share fewer.
  void pin() const {
    const int wanted =
        has("cpus") ? std::min(static_cast<int>(number("cpus")), workers_) : workers_;
    cpu_set_t allowed;
    cpu_set_t chosen;
    CPU_ZERO(&chosen);
    check(sched_getaffinity(0, sizeof allowed, &allowed) == 0, "sched_getaffinity");
    int found = 0;
    for (int cpu = 0; cpu < CPU_SETSIZE && found < wanted; ++cpu) {
      if (CPU_ISSET(cpu, &allowed)) {
        CPU_SET(cpu, &chosen);
        cpus.push_back(cpu);
        ++found;
      }
    }
    check(found == wanted && found > 0, "fewer CPUs than asked for");
    check(sched_setaffinity(0, sizeof chosen, &chosen) == 0, "sched_setaffinity");
  }

  int workers_ = 1;
  double seconds_ = 0.25;
  Params params_;
};

// Runs `body` once; value in seconds.
template <class Body>
Sample time_once(Body&& body) {
  const double cpu = cpu_s();
  const double start = wall_s();
  body();
  const double end = wall_s();
  return {end - start, cpu_s() - cpu};
}

// Nanoseconds per operation. `batch(n)` runs n rounds of `ops` operations each. After a first call
// as a warm-up, n grows until a batch takes the time to measure; that batch is the result.
template <class Batch>
Sample time_per_op(const Setup& setup, double ops, Batch&& batch) {
  batch(1);
  uint64_t n = 1;
  Sample sample = time_once([&] { batch(n); });
  while (sample.value < 0.75 * setup.seconds()) {
    const double scale = setup.seconds() / sample.value;
    n = scale > 10 ? n * 10 : static_cast<uint64_t>(static_cast<double>(n) * scale) + 1;
    sample = time_once([&] { batch(n); });
  }
  sample.value *= 1e9 / (ops * static_cast<double>(n));
  return sample;
}

// Deep recursions need deep stacks on the first thread and on those that a library starts: raises
// the limit, which both inherit, and starts the program again.
inline void ensure_stack(char** argv, size_t bytes) {
  rlimit limit{};
  check(getrlimit(RLIMIT_STACK, &limit) == 0, "getrlimit");
  if (limit.rlim_cur != RLIM_INFINITY && limit.rlim_cur >= bytes) {
    return;
  }
  limit.rlim_cur = bytes;
  check(setrlimit(RLIMIT_STACK, &limit) == 0, "the hard limit of the stack size is too low");
  setenv("OMP_STACKSIZE", (std::to_string(bytes) + "B").c_str(), 1);
  execv("/proc/self/exe", argv);
  fail("execv");
}

// The stacks that a library's own threads need: 0 (its default) unless ensure_stack() asked for
// more.
inline size_t thread_stack() {
  rlimit limit{};
  getrlimit(RLIMIT_STACK, &limit);
  const bool deep = limit.rlim_cur != RLIM_INFINITY && limit.rlim_cur >= (size_t{1} << 27);
  return deep ? limit.rlim_cur : 0;
}

// What is to be said of the library's settings.
template <class Lib>
std::string note_of(const Lib& lib) {
  if constexpr (requires { lib.note; }) {
    return lib.note;
  } else {
    return Lib::kVariants[0];
  }
}

// Of several ways to use a library the fastest is reported, and named. Where one makes no sense in a
// mode, Lib::applies() says so.
template <class Lib, class Measure>
void report_best(const Setup& setup, const char* unit, Mode mode, Measure&& measure) {
  Sample best;
  std::string name;
  int variant = 0;
  for (const char* candidate : Lib::kVariants) {
    const int which = variant++;
    if constexpr (requires { Lib::applies(mode, which); }) {
      if (!Lib::applies(mode, which)) {
        continue;
      }
    }
    Lib lib;
    lib.init(setup.workers(), mode, which);
    const Sample sample = measure(lib);
    lib.finalize();
    if (name.empty() || sample.value < best.value) {
      best = sample;
      name = candidate;
    }
  }
  setup.report(unit, best, {}, name);
}

}  // namespace bench

#endif  // WEFT_BENCH_HARNESS_HPP
