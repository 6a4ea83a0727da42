#include "affinity.hpp"
#include "allocator.hpp"
#include "env.hpp"

namespace weft::omp {
namespace {

constexpr const char* kVersion = "201511";  // 4.5, which is complete here

const char* word(bool on) { return on ? "TRUE" : "FALSE"; }

const char* word(Bind bind) {
  static constexpr const char* kWords[] = {"FALSE", "TRUE", "PRIMARY", "CLOSE", "SPREAD"};
  return kWords[static_cast<size_t>(bind)];
}

std::string text_of(const Schedule& schedule) {
  static constexpr const char* kWords[] = {"STATIC", "STATIC", "DYNAMIC", "GUIDED", "AUTO"};
  std::string text = schedule.monotonic ? "MONOTONIC:" : "";
  text += schedule.kind == Sched::kTrapezoidal ? "TRAPEZOIDAL" : kWords[static_cast<size_t>(schedule.kind)];
  if (schedule.chunk != 0) text += "," + std::to_string(schedule.chunk);
  return text;
}

// Without a list: what counts for all levels.
template <typename Value, typename Word>
std::string text_of_list(const std::vector<Value>& list, Value alone, Word word) {
  if (list.empty()) return word(alone);
  std::string text;
  for (const Value value : list) text += (text.empty() ? "" : ",") + std::string(word(value));
  return text;
}

std::string text_of_places(const PlaceList& places) {
  std::string text;
  for (const Place& place : places) {
    std::string cpus;
    for (const int cpu : place) cpus += (cpus.empty() ? "" : ",") + std::to_string(cpu);
    text += (text.empty() ? "{" : ",{") + cpus + "}";
  }
  return text;
}

std::string text_of_allocator(uintptr_t allocator) {
  static constexpr const char* kNames[] = {"omp_null_allocator",     "omp_default_mem_alloc", "omp_large_cap_mem_alloc",
                                           "omp_const_mem_alloc",    "omp_high_bw_mem_alloc", "omp_low_lat_mem_alloc",
                                           "omp_cgroup_mem_alloc",   "omp_pteam_mem_alloc",   "omp_thread_mem_alloc"};
  if (allocator == kPinnedOfGcc) return "ompx_gnu_pinned_mem_alloc";
  return allocator < std::size(kNames) ? kNames[allocator] : "(own)";
}

struct Lines {
  std::vector<Shown> list;
  void add(const char* name, const std::string& value) { list.push_back({name, value}); }
  void add(const char* name, int value) { add(name, std::to_string(value)); }
};

void add_standard(const Device& device, Lines& lines) {
  static constexpr const char* kWaits[] = {"HYBRID", "ACTIVE", "PASSIVE"};
  static constexpr const char* kOffloads[] = {"DEFAULT", "MANDATORY", "DISABLED"};
  const Icvs& initial = device.initial;
  const auto number = [](int n) { return std::to_string(n); };
  lines.add("OMP_DYNAMIC", word(initial.dynamic));
  lines.add("OMP_NESTED", word(initial.max_active_levels > 1));
  lines.add("OMP_NUM_THREADS", text_of_list(device.nthreads_list, initial.nthreads, number));
  lines.add("OMP_SCHEDULE", initial.run_sched.given ? text_of(initial.run_sched) : std::string());
  lines.add("OMP_PROC_BIND", text_of_list(device.bind_list, initial.bind, [](Bind bind) { return std::string(word(bind)); }) +
                                 (device.bind_unset_after ? ",UNSET" : ""));
  lines.add("OMP_PLACES", text_of_places(device.places));
  lines.add("OMP_STACKSIZE", std::to_string(device.stack_size));
  lines.add("OMP_WAIT_POLICY", kWaits[static_cast<size_t>(device.wait)]);
  lines.add("OMP_THREAD_LIMIT", initial.thread_limit);
  lines.add("OMP_MAX_ACTIVE_LEVELS", initial.max_active_levels);
  lines.add("OMP_NUM_TEAMS", device.num_teams);
  lines.add("OMP_TEAMS_THREAD_LIMIT", device.teams_thread_limit);
  lines.add("OMP_CANCELLATION", word(device.cancel));
  lines.add("OMP_DEFAULT_DEVICE", initial.default_device);
  lines.add("OMP_MAX_TASK_PRIORITY", device.max_task_priority);
  lines.add("OMP_DISPLAY_AFFINITY", word(device.display_affinity));
  lines.add("OMP_AFFINITY_FORMAT", device.affinity_format);
  lines.add("OMP_ALLOCATOR", text_of_allocator(initial.allocator));
  lines.add("OMP_TARGET_OFFLOAD", kOffloads[static_cast<size_t>(device.offload)]);
  lines.add("OMP_TOOL", device.tool ? "ENABLED" : "DISABLED");
  lines.add("OMP_TOOL_LIBRARIES", device.tool_libraries);
  lines.add("OMP_TOOL_VERBOSE_INIT", device.tool_verbose_init.empty() ? "DISABLED" : device.tool_verbose_init);
  lines.add("OMP_DEBUG", "DISABLED");
}

}  // namespace

std::vector<Shown> shown_values(const Device& device, bool verbose) {
  Lines lines;
  add_standard(device, lines);
  if (verbose) {
    lines.add("WEFT_OMP_IDENTITY", device.identity == IdentityWish::kOwn ? "own" : "worker");
    lines.add("WEFT_OMP_STATS", device.stats ? "true" : "false");
    lines.add("WEFT_WORKERS", device.workers != 0 ? device.workers : device.share);
    if (!device.cpus.empty()) lines.add("KMP_HW_SUBSET", text_of_cpus(device.cpus));
    if (device.spin_us >= 0) lines.add("KMP_BLOCKTIME", std::to_string(device.spin_us) + "us");
  }
  return lines.list;
}

std::string show_environment(const Device& device, bool verbose) {
  std::string text = "\nOPENMP DISPLAY ENVIRONMENT BEGIN\n  _OPENMP = '" + std::string(kVersion) + "'\n";
  for (const auto& [name, value] : shown_values(device, verbose)) text += "  [host] " + name + " = '" + value + "'\n";
  return text + "OPENMP DISPLAY ENVIRONMENT END\n";
}

}  // namespace weft::omp
