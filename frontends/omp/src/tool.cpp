#include "tool.hpp"

#include <dlfcn.h>
#include <strings.h>
#include <sys/syscall.h>
#include <time.h>

#include <algorithm>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

#include "arch/system_call.hpp"
#include "export.hpp"
#include "exported.hpp"
#include "icv.hpp"
#include "region.hpp"
#include "team.hpp"
#include "tool_inside.hpp"

namespace weft::omp::tool {

constinit Wanted wanted{{kNotAsked}};

namespace {

constexpr unsigned kVersion = 201511;  // _OPENMP
constexpr char kName[] = "Weft";

using StartTool = ompt_start_tool_result_t* (*)(unsigned, const char*);

constinit std::atomic<ompt_callback_t> callbacks[kEvents] = {};
ompt_start_tool_result_t* tool_in_use = nullptr;
std::atomic<int> ending{0};  // threads that have been told to end, and have not been heard of

// Called where there is no tool's own, and for all who look for one.
extern "C" ompt_start_tool_result_t* weft_omp_no_tool(unsigned, const char*) { return nullptr; }

}  // namespace
}  // namespace weft::omp::tool

// A program's, or that of a library before this one, comes first. Not so, in spite of `weak`, one of a library behind it.
WEFT_OMP_API __attribute__((weak, alias("weft_omp_no_tool"))) ompt_start_tool_result_t* ompt_start_tool(unsigned, const char*);

namespace weft::omp::tool {

namespace {

StartTool look_for_start() {
  const StartTool none = &weft_omp_no_tool;
  // As a rule there is none. Then the loader is not asked: whoever has its lock may wait for this thread (the constructor of a library that
  // is loaded by dlopen()).
  if (!exported_by_others("ompt_start_tool", reinterpret_cast<const void*>(none))) {
    const StartTool own = &ompt_start_tool;  // of a program that exports nothing
    return own != none ? own : nullptr;
  }
  auto found = reinterpret_cast<StartTool>(dlsym(RTLD_DEFAULT, "ompt_start_tool"));
  if (found == nullptr) found = &ompt_start_tool;
  if (found == none) found = reinterpret_cast<StartTool>(dlsym(RTLD_NEXT, "ompt_start_tool"));
  return found != none ? found : nullptr;
}

std::atomic<bool> is_looked_for{false};
std::atomic<StartTool> found_start{nullptr};

// Who looks has a lock of the loader's, which a child that is forked meanwhile would find taken for ever: a fork waits for that, a second at most.
std::atomic<int> looking{0};
std::atomic<bool> forks{false};

// Sequentially consistent, both here and where a fork begins: that sees us, or we see it.
void begin_to_look() {
  looking.fetch_add(1, std::memory_order_seq_cst);
  while (forks.load(std::memory_order_seq_cst)) {
    looking.fetch_sub(1, std::memory_order_relaxed);
    while (forks.load(std::memory_order_relaxed)) rt::system_call(SYS_sched_yield, 0, 0, 0, 0);
    looking.fetch_add(1, std::memory_order_seq_cst);
  }
}

// By several threads where they come at once: who waits for the loader's lock has none of ours, for which the one that has that lock may
// wait.
StartTool start_of_process() {
  if (!is_looked_for.load(std::memory_order_acquire)) {
    begin_to_look();
    found_start.store(look_for_start(), std::memory_order_relaxed);
    is_looked_for.store(true, std::memory_order_release);  // pairs with the acquire above
    looking.fetch_sub(1, std::memory_order_release);
  }
  return found_start.load(std::memory_order_relaxed);
}

// ---- looking for it, and what is told of that

class Log {
 public:
  explicit Log(const std::string& where) {
    if (where.empty()) return;
    const auto is = [&where](std::string_view name) {
      return where.size() == name.size() && strncasecmp(where.c_str(), name.data(), name.size()) == 0;
    };
    if (is("disabled")) return;
    x_file = is("stdout") ? stdout : is("stderr") ? stderr : std::fopen(where.c_str(), "w");
    x_own = x_file != nullptr && x_file != stdout && x_file != stderr;
    if (x_file == nullptr) std::fprintf(stderr, "weft: OMP_TOOL_VERBOSE_INIT: cannot write to \"%s\"\n", where.c_str());
  }
  ~Log() {
    if (x_own) std::fclose(x_file);
  }
  Log(const Log&) = delete;
  Log& operator=(const Log&) = delete;

  [[gnu::format(printf, 2, 3)]] void say(const char* format, ...) {
    if (x_file == nullptr) return;
    va_list arguments;
    va_start(arguments, format);
    std::vfprintf(x_file, format, arguments);
    va_end(arguments);
    std::fflush(x_file);
  }

 private:
  FILE* x_file = nullptr;
  bool x_own = false;
};

// Of a library that OMP_TOOL_LIBRARIES names. It stays loaded if its tool is used.
ompt_start_tool_result_t* start_of_library(const std::string& name, Log& log) {
  log.say("Opening %s... ", name.c_str());
  void* library = dlopen(name.c_str(), RTLD_LAZY);
  if (library == nullptr) {
    log.say("Failed: %s\n", dlerror());
    return nullptr;
  }
  log.say("Success.\nSearching for ompt_start_tool in %s... ", name.c_str());
  dlerror();
  const auto start = reinterpret_cast<StartTool>(dlsym(library, "ompt_start_tool"));
  if (start == nullptr) {
    const char* why = dlerror();
    log.say("Failed: %s\n", why != nullptr ? why : "ompt_start_tool = NULL");
  } else if (ompt_start_tool_result_t* result = start(kVersion, kName)) {
    log.say("Success.\n");
    return result;
  } else {
    log.say("Found but not using the OMPT interface.\nContinuing search...\n");
  }
  dlclose(library);
  return nullptr;
}

ompt_start_tool_result_t* start_of_libraries(std::string_view list, Log& log) {
  while (!list.empty()) {
    const size_t end = std::min(list.find(':'), list.size());
    const std::string name(list.substr(0, end));
    list.remove_prefix(std::min(end + 1, list.size()));
    if (name.empty()) continue;
    if (ompt_start_tool_result_t* result = start_of_library(name, log)) return result;
  }
  return nullptr;
}

ompt_start_tool_result_t* find(Log& log) {
  log.say("----- START LOGGING OF TOOL REGISTRATION -----\n");
  log.say("Search for OMP tool in current address space... ");
  const StartTool start = start_of_process();
  ompt_start_tool_result_t* result = start != nullptr ? start(kVersion, kName) : nullptr;
  log.say(result != nullptr ? "Success.\n" : "Failed.\n");
  const std::string& libraries = device().tool_libraries;
  if (result == nullptr && libraries.empty()) log.say("No OMP_TOOL_LIBRARIES defined.\n");
  if (result == nullptr && !libraries.empty()) {
    log.say("Searching tool libraries...\nOMP_TOOL_LIBRARIES = %s\n", libraries.c_str());
    result = start_of_libraries(libraries, log);
  }
  log.say(result != nullptr ? "Tool was started and is using the OMPT interface.\n"
                            : "...searching tool libraries failed.\nNo OMP tool loaded.\n");
  log.say("----- END LOGGING OF TOOL REGISTRATION -----\n");
  return result;
}

// Waits for the threads that have been told to end: they have something to tell as well.
void wait_for_the_ending() {
  while (ending.load(std::memory_order_acquire) != 0) weft_yield();
}

}  // namespace

bool may_be() { return device().tool && (!device().tool_libraries.empty() || start_of_process() != nullptr); }

ompt_callback_t callback_of(ompt_callbacks_t event) {
  if ((wanted.bits.load(std::memory_order_relaxed) >> event & 1) == 0) return nullptr;
  return callbacks[event].load(std::memory_order_acquire);  // pairs with set()
}

ompt_set_result_t set(ompt_callbacks_t event, ompt_callback_t callback) {
  if (event < ompt_callback_thread_begin || event >= kEvents) return ompt_set_error;
  const bool devices = (event >= ompt_callback_target && event <= ompt_callback_target_submit) ||
                       (event >= ompt_callback_device_initialize && event <= ompt_callback_device_unload) ||
                       event == ompt_callback_target_map ||
                       (event >= ompt_callback_target_emi && event <= ompt_callback_target_map_emi);
  callbacks[event].store(callback, std::memory_order_release);
  if (callback == nullptr) {
    wanted.bits.fetch_and(~(uint64_t{1} << event), std::memory_order_relaxed);
    return ompt_set_always;
  }
  wanted.bits.fetch_or(uint64_t{1} << event, std::memory_order_relaxed);
  if (devices) return ompt_set_never;
  // A static loop of gcc's calls nobody, and its single has no end.
  const bool gaps = event == ompt_callback_work || event == ompt_callback_dispatch || event == ompt_callback_masked ||
                    event == ompt_callback_flush || event == ompt_callback_reduction;
  return gaps ? ompt_set_sometimes : ompt_set_always;
}

namespace {

// False: there is none.
bool begin() {
  if (!device().tool) return false;
  Log log(device().tool_verbose_init);
  ompt_start_tool_result_t* result = find(log);
  if (result == nullptr) return false;
  constexpr int kInitialDevice = 0;
  if (result->initialize(&look_up, kInitialDevice, &result->tool_data) == 0) return false;
  tool_in_use = result;
  wanted.bits.fetch_or(kThere, std::memory_order_relaxed);
  std::atexit(&finish);
  return true;
}

enum Progress : int { kNotBegun, kBeginning, kBegun };
std::atomic<int> progress{kNotBegun};
thread_local bool begins_here = false;

}  // namespace

// Others that come meanwhile wait: nothing is to be told before the tool is there. Until then kNotAsked has their entries noted (Entry).
// The tool itself may call the runtime.
void start() {
  if (progress.load(std::memory_order_acquire) == kBegun || begins_here) return;
  if (device().tool) static_cast<void>(start_of_process());  // before others wait for us
  int before = kNotBegun;
  if (!progress.compare_exchange_strong(before, kBeginning, std::memory_order_relaxed)) {
    while (progress.load(std::memory_order_acquire) != kBegun) weft_yield();
    return;
  }
  begins_here = true;
  const bool found = begin();
  begins_here = false;
  wanted.bits.fetch_and(found ? ~kNotAsked : 0, std::memory_order_relaxed);
  progress.store(kBegun, std::memory_order_release);
}

void fork_begins() {
  constexpr int kMostMs = 1000;
  const timespec while_somebody_looks{.tv_sec = 0, .tv_nsec = 1'000'000};
  forks.store(true, std::memory_order_seq_cst);
  for (int ms = 0; ms < kMostMs && looking.load(std::memory_order_seq_cst) > 0; ++ms) {
    rt::system_call(SYS_nanosleep, reinterpret_cast<long>(&while_somebody_looks), 0, 0, 0);
  }
}
void fork_ends() { forks.store(false, std::memory_order_relaxed); }
void fork_ends_in_child() {
  looking.store(0, std::memory_order_relaxed);
  fork_ends();
}

void forget_who_begins() {
  if (begins_here) return;
  int beginning = kBeginning;
  progress.compare_exchange_strong(beginning, kNotBegun, std::memory_order_relaxed);
}

void forget_threads() { ending.store(0, std::memory_order_relaxed); }

void threads_will_end(int count) { ending.fetch_add(count, std::memory_order_relaxed); }

void thread_ends(Thread& thread) {
  thread.seen.state = ompt_state_overhead;
  tell<ompt_callback_thread_end_t>(ompt_callback_thread_end, &thread.seen.data);
  ending.fetch_sub(1, std::memory_order_release);  // pairs with wait_for_the_ending()
}

void finish() {
  static std::atomic<bool> begun{false};
  if (!is_there() || begun.exchange(true, std::memory_order_relaxed)) return;
  Thread* thread = this_thread_if_any();
  if (thread == nullptr) {
    wait_for_the_ending();
  } else if (thread->member->team->opener == nullptr) {  // else in a region, whose threads go on until the process is gone
    release_teams(true);
    wait_for_the_ending();
    root_ends(*thread, thread);
  }
  wanted.bits.store(kThere, std::memory_order_relaxed);  // it may still ask, and is told nothing more
  if (tool_in_use->finalize != nullptr) tool_in_use->finalize(&tool_in_use->tool_data);
  wanted.bits.store(0, std::memory_order_relaxed);
}

void root_ends(Thread& thread, Thread* caller) {
  if (caller != nullptr) caller->seen.speaks_for = &thread;
  initial_task_ends(*thread.member, 1);
  threads_will_end(1);
  thread_ends(thread);
  if (caller != nullptr) caller->seen.speaks_for = nullptr;
}

int control(uint64_t command, uint64_t modifier, void* arg) {
  constexpr int kNoTool = -2, kNoCallback = -1;  // omp_control_tool_…
  if (!is_there()) return kNoTool;
  const ompt_callback_t callback = callback_of(ompt_callback_control_tool);
  if (callback == nullptr) return kNoCallback;
  return reinterpret_cast<ompt_callback_control_tool_t>(callback)(command, modifier, arg, this_thread().seen.called_from);
}

// ---- whose code runs

void Entry::begin(const void* from, void* frame) {
  Thread* thread = this_thread_if_any();
  if (thread == nullptr) {
    // Not to start the runtime for it, where it would not start by itself, and nobody wants to know.
    if (!may_be()) return;
    thread = &this_thread();
  }
  if (!is_there() || thread->seen.called_from != nullptr) return;
  thread->seen.called_from = from;
  ompt_frame_t& of = thread->member->task->seen.frame;
  of.enter_frame.ptr = frame;
  of.enter_frame_flags = ompt_frame_runtime | ompt_frame_cfa;
  x_thread = thread;
}

// Its task may be another one, in which the program goes on.
void Entry::end() {
  x_thread->seen.called_from = nullptr;
  if (x_thread->member != nullptr) x_thread->member->task->seen.frame.enter_frame.ptr = nullptr;
}

void frame_left(Task& task, void* frame) {
  task.seen.frame.exit_frame.ptr = frame;
  task.seen.frame.exit_frame_flags = ompt_frame_runtime | ompt_frame_framepointer;
}

void frame_back(Task& task) { task.seen.frame.exit_frame.ptr = nullptr; }

}  // namespace weft::omp::tool
