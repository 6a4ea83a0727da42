#include "env.hpp"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <mutex>

#include "pool/pool.hpp"

namespace weft::omp {
namespace {

constexpr size_t kSmallestStack = 64 << 10;  // less is raised to this: code between the program and us takes some

template <auto field>
bool read_bool(Scan& text, Reading& reading) {
  bool on = false;
  if (!read_switch(text, on)) return false;
  reading.*field = on;
  return true;
}
template <bool Device::* field>
bool read_device_bool(Scan& text, Reading& reading) {
  return read_switch(text, reading.device.*field);
}

template <auto field, int min>
bool read_device_number(Scan& text, Reading& reading) {
  int number = 0;
  if (!text.number(number, min) || !text.at_end()) return false;
  reading.device.*field = number;
  return true;
}
bool read_workers(Scan& text, Reading& reading) {
  constexpr int kMost = 1024;
  static_assert(kMost == rt::kMaxWorkers);
  int number = 0;
  if (!text.number(number, 1, kMost) || !text.at_end()) return false;
  reading.device.workers = number;
  return true;
}
template <auto field, int min>
bool read_initial_number(Scan& text, Reading& reading) {
  int number = 0;
  if (!text.number(number, min) || !text.at_end()) return false;
  reading.device.initial.*field = number;
  return true;
}

bool read_dynamic(Scan& text, Reading& reading) { return read_switch(text, reading.device.initial.dynamic); }

bool read_levels(Scan& text, Reading& reading) {
  long levels = 0;
  if (!text.number(levels) || levels < 0 || !text.at_end()) return false;
  reading.device.initial.max_active_levels = static_cast<int>(std::min<long>(levels, kMostLevels));
  return reading.levels_given = true;
}

bool read_nested(Scan& text, Reading& reading) {
  return read_switch(text, reading.nested) && (reading.nested_given = true);
}

// Also what has another name for it, and does not count where this one is given.
bool read_thread_limit(Scan& text, Reading& reading) {
  int limit = 0;
  if (!text.number(limit, 1) || !text.at_end()) return false;
  if (reading.device.initial.thread_limit == kNoThreadLimit) reading.device.initial.thread_limit = limit;
  return true;
}

bool read_teams_limit(Scan& text, Reading& reading) {
  int limit = 0;
  if (!text.number(limit, 1) || !text.at_end()) return false;
  if (reading.device.teams_thread_limit == 0) reading.device.teams_thread_limit = limit;
  return true;
}

template <size_t unit>
bool read_stack_size(Scan& text, Reading& reading) {
  size_t size = 0;
  if (!read_size(text, unit, size) || size > size_t{1} << 46) return false;
  if (reading.stack_given) return true;
  reading.device.stack_size = (std::max(size, kSmallestStack) + 4095) & ~size_t{4095};
  return reading.stack_given = true;
}

bool read_identity(Scan& text, Reading& reading) {
  const std::string word = text.word();
  if (!text.at_end() || (word != "own" && word != "worker")) return false;
  reading.device.identity = word == "own" ? IdentityWish::kOwn : IdentityWish::kWorker;
  return true;
}

bool read_settings(Scan& text, Reading& reading) {
  bool on = false;
  if (!read_switch(text, on)) return false;
  if (on && reading.device.display_env == DisplayEnv::kNo) reading.device.display_env = DisplayEnv::kYes;
  return true;
}

bool read_warnings(Scan& text, Reading& reading) {
  Scan number = text;
  long level = 0;  // libomp: 0, 1, 2 or words
  bool on = level != 0;
  if (number.number(level) && number.at_end()) {
    on = level != 0;
  } else if (!read_switch(text, on)) {
    return false;
  }
  reading.quiet = !on;
  return true;
}

constexpr char kSwitch[] = "true or false";
constexpr char kPositive[] = "a positive number";
constexpr char kSize[] = "a size such as 512K, 8M or 1G";
constexpr char kAffinity[] = "true, false, or a list of primary, close and spread, with unset at its end";

// In the order in which they count where several say the same.
constexpr Variable kVariables[] = {
    {"KMP_WARNINGS", read_warnings, "on or off"},
    {"WEFT_OMP_VERBOSE", read_device_bool<&Device::verbose>, kSwitch},
    {"WEFT_OMP_STATS", read_device_bool<&Device::stats>, kSwitch},
    {"WEFT_OMP_IDENTITY", read_identity, "own or worker"},
    // Before all that asks for the machine.
    {"KMP_HW_SUBSET", read_hw_subset, "what this machine has, from sockets inwards, such as 1s,4c,1t"},
    {"WEFT_WORKERS", read_workers, "a number from 1 to 1024"},
    {"OMP_NUM_THREADS", read_num_threads, "a list of positive numbers"},
    {"OMP_SCHEDULE", read_schedule, "[monotonic:|nonmonotonic:]static, dynamic, guided or auto, and behind a comma the chunk"},
    {"OMP_DYNAMIC", read_dynamic, kSwitch},
    {"OMP_MAX_ACTIVE_LEVELS", read_levels, "a number from 0 on"},
    {"OMP_NESTED", read_nested, kSwitch},
    {"OMP_THREAD_LIMIT", read_thread_limit, kPositive},
    {"KMP_ALL_THREADS", read_thread_limit, kPositive},
    {"KMP_DEVICE_THREAD_LIMIT", read_thread_limit, kPositive},
    {"KMP_MAX_THREADS", read_thread_limit, kPositive},
    {"OMP_PROC_BIND", read_proc_bind, kAffinity},
    {"KMP_TEAMS_PROC_BIND", read_teams_bind, "primary, close or spread"},
    {"KMP_AFFINITY", read_kmp_affinity, "[modifier,…]compact, scatter, balanced, explicit, none or disabled[,permute[,offset]]"},
    {"OMP_PLACES", read_places, "threads, cores, sockets, ll_caches or numa_domains, with a count in brackets or without, or a "
                                "list of places such as {0:4},{4:4}, with CPUs that may be used"},
    {"GOMP_CPU_AFFINITY", read_gomp_affinity, "a list of CPUs such as 0-3:2 5, some of which may be used"},
    {"KMP_STACKSIZE", read_stack_size<1>, kSize},
    {"OMP_STACKSIZE", read_stack_size<1024>, kSize},
    {"GOMP_STACKSIZE", read_stack_size<1024>, kSize},
    {"OMP_WAIT_POLICY", read_wait_policy, "active, passive or hybrid"},
    {"KMP_BLOCKTIME", read_blocktime, "milliseconds, or infinite"},
    {"GOMP_SPINCOUNT", read_spin_count, "a number, or infinite"},
    {"KMP_LIBRARY", read_library, "throughput, turnaround or serial"},
    {"OMP_CANCELLATION", read_device_bool<&Device::cancel>, kSwitch},
    {"OMP_DISPLAY_ENV", read_display_env, "true, false or verbose"},
    {"KMP_SETTINGS", read_settings, kSwitch},
    {"OMP_DISPLAY_AFFINITY", read_device_bool<&Device::display_affinity>, kSwitch},
    {"OMP_DEFAULT_DEVICE", read_initial_number<&Icvs::default_device, 0>, "a number from 0 on"},
    {"OMP_MAX_TASK_PRIORITY", read_device_number<&Device::max_task_priority, 0>, "a number from 0 on"},
    {"OMP_TARGET_OFFLOAD", read_offload, "mandatory, disabled or default"},
    {"OMP_NUM_TEAMS", read_device_number<&Device::num_teams, 1>, kPositive},
    {"OMP_TEAMS_THREAD_LIMIT", read_teams_limit, kPositive},
    {"KMP_TEAMS_THREAD_LIMIT", read_teams_limit, kPositive},
    {"OMP_ALLOCATOR", read_allocator, "an allocator, or a memory space with traits, such as omp_default_mem_space:alignment=64"},
    {"OMP_TOOL", read_tool, "enabled or disabled"},
    // There is no debugger's library to switch on.
    {"OMP_DEBUG", read_debug, "enabled or disabled"},
};

// Taken as they are, or known to have no meaning here.
constexpr const char* kTexts[] = {"OMP_AFFINITY_FORMAT", "OMP_TOOL_LIBRARIES", "OMP_TOOL_VERBOSE_INIT"};
constexpr const char* kHarmless[] = {"KMP_DUPLICATE_LIB_OK", "KMP_INIT_AT_FORK", "KMP_VERSION", "GOMP_DEBUG"};

// Null: not set, or set to nothing. What is set for the host too by a name that ends in _ALL counts last.
const char* text_of(EnvSource source, const std::string& name) {
  for (const std::string& full : {name, name + "_ALL"}) {
    const char* text = source(full.c_str());
    if (text != nullptr && !Scan(text).at_end()) return text;
    if (name.compare(0, 4, "OMP_") != 0) break;
  }
  return nullptr;
}

void read_one(const Variable& variable, const char* text, Reading& reading) {
  Scan scan(text);
  if (variable.read(scan, reading)) return;
  if (reading.quiet) return;
  reading.messages += std::string("weft: ") + variable.name + "=\"" + text + "\" is not allowed; it takes " + variable.takes +
                      ". Using the default.\n";
}

void note_ignored(Reading& reading) {
  if (!reading.device.verbose || environ == nullptr) return;
  const auto known = [](std::string_view name) {
    if (name.ends_with("_ALL")) name.remove_suffix(4);
    const auto same = [name](const char* other) { return name == other; };
    return std::any_of(std::begin(kTexts), std::end(kTexts), same) ||
           std::any_of(std::begin(kHarmless), std::end(kHarmless), same) || name == "KMP_ALL_THREADS" ||
           std::any_of(std::begin(kVariables), std::end(kVariables), [name](const Variable& v) { return name == v.name; });
  };
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string_view line(*entry);
    const std::string_view name = line.substr(0, line.find('='));
    if (!name.starts_with("OMP_") && !name.starts_with("KMP_") && !name.starts_with("GOMP_")) continue;
    if (!known(name)) reading.messages += "weft: " + std::string(line) + " means nothing here and is ignored.\n";
  }
}

// What follows from several together.
void settle(Reading& reading) {
  Device& device = reading.device;
  Icvs& initial = device.initial;
  if (!device.nthreads_list.empty()) initial.nthreads = device.nthreads_list[0];
  if (!reading.levels_given) {
    const bool lists = device.nthreads_list.size() > 1 || device.bind_list.size() + device.bind_unset_after > 1;
    if (reading.nested_given ? reading.nested : lists) initial.max_active_levels = kMostLevels;
  }
  // Places without a word about binding mean that threads are bound; and the other way round.
  const bool no_binding = reading.bind_given && device.bind_list[0] == Bind::kFalse;
  if (reading.places_given && !reading.bind_given) device.bind_list = {Bind::kTrue};
  if (reading.bind_given && !reading.places_given && !no_binding && !reading.affinity_off)
    device.places = places_of_kind(reading.machine, PlaceKind::kThreads);
  if (reading.affinity_off) device.bind_list.clear();
  initial.bind = device.bind_list.empty() ? Bind::kFalse : device.bind_list[0];
  if (initial.default_device < 0) initial.default_device = device.offload == Offload::kMandatory ? kInvalidDevice : kHostDevice;
  initial.place_first = 0;
  initial.place_count = static_cast<int>(device.places.size());
  // Who says where threads run has thought of the other processes.
  const bool said_where = initial.bind != Bind::kFalse || !device.cpus.empty();
  device.share = said_where || reading.machine.share == 0 ? device.procs : std::min(reading.machine.share, device.procs);
  if (device.verbose && device.workers == 0 && device.share < device.procs)
    reading.messages += "weft: other processes of the same MPI job use these " + std::to_string(device.procs) +
                        " CPUs as well: this one has " + std::to_string(device.share) +
                        (device.share == 1 ? " worker" : " workers") + ", unless WEFT_WORKERS says otherwise.\n";
}

std::string text_of_device(Device& device) {
  std::string messages;
  read_environment(device, this_machine(), [](const char* name) -> const char* { return ::getenv(name); }, messages);
  return messages;
}

void write_out(const std::string& text) {
  if (text.empty()) return;
  // One write, so that the lines of several processes do not mix.
  if (::write(STDERR_FILENO, text.data(), text.size()) < 0) return;
}

}  // namespace

void read_environment(Device& device, const Machine& machine, EnvSource source, std::string& messages) {
  Reading reading{.device = device, .machine = machine, .messages = messages};
  device.procs = device.initial.nthreads = machine.procs;
  device.initial.thread_limit = kNoThreadLimit;
  device.initial.default_device = -1;  // not given
  for (const Variable& variable : kVariables) {
    if (const char* text = text_of(source, variable.name)) read_one(variable, text, reading);
  }
  if (const char* text = text_of(source, "OMP_AFFINITY_FORMAT")) device.affinity_format = text;
  if (const char* text = text_of(source, "OMP_TOOL_LIBRARIES")) device.tool_libraries = text;
  if (const char* text = text_of(source, "OMP_TOOL_VERBOSE_INIT")) device.tool_verbose_init = text;
  settle(reading);
  note_ignored(reading);
}

namespace {

// Not a static variable's own lock: a child that is forked meanwhile would find that taken for ever.
std::mutex reading_device;
thread_local bool reads = false;  // which may fork meanwhile
std::atomic<Device*> the_device{nullptr};  // never destroyed: threads may run when the process ends

[[gnu::noinline, gnu::cold]] Device& read_device() {
  const std::scoped_lock hold(reading_device);
  if (Device* device = the_device.load(std::memory_order_relaxed)) return *device;
  reads = true;
  auto* fresh = new Device;
  std::string text = text_of_device(*fresh);
  if (fresh->display_env != DisplayEnv::kNo) text += show_environment(*fresh, fresh->display_env == DisplayEnv::kVerbose);
  write_out(text);
  the_device.store(fresh, std::memory_order_release);
  reads = false;
  return *fresh;
}

}  // namespace

Device& device() {
  Device* device = the_device.load(std::memory_order_acquire);
  return __builtin_expect(device != nullptr, 1) ? *device : read_device();
}

void device_lock() {
  if (!reads) reading_device.lock();
}
void device_unlock() {
  if (!reads) reading_device.unlock();
}

}  // namespace weft::omp
