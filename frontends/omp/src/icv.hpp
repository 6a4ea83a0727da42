// icv.hpp: internal control variables (OpenMP 5.2, section 2).
//
// Those of a data environment (`Icvs`) belong to a task, which inherits them from the task that made it; those of the
// device (`Device`) are read from the environment once.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace weft::omp {

// Values of omp_proc_bind_t, also in both compilers' clauses.
enum class Bind : int8_t { kFalse = 0, kTrue = 1, kPrimary = 2, kClose = 3, kSpread = 4 };

// Values of omp_sched_t; the last one, of Intel's compilers, is done as guided.
enum class Sched : uint8_t { kStatic = 1, kDynamic = 2, kGuided = 3, kAuto = 4, kTrapezoidal = 101 };

struct Schedule {
  Sched kind = Sched::kStatic;
  bool monotonic = false;
  bool given = false;  // by OMP_SCHEDULE or omp_set_schedule(); else the ABI decides: libgomp's is dynamic,1, libomp's static
  int chunk = 0;  // 0: none given
  bool operator==(const Schedule&) const = default;
};

// Numbers of devices that mean none, as gcc's omp.h has them. There is the host only.
inline constexpr int kHostDevice = 0;
inline constexpr int kInitialDevice = -1;  // omp_initial_device: the host
inline constexpr int kOldHostDevice = -2;  // so old programs of gcc's call the host
inline constexpr int kInvalidDevice = -4;  // omp_invalid_device
inline constexpr int kDefaultDevice = -5;  // omp_default_device: what default-device-var says

struct Icvs {
  int nthreads = 1;           // nthreads-var of this level
  int thread_limit = 0;       // thread-limit-var
  int max_active_levels = 1;  // max-active-levels-var
  int default_device = kHostDevice;
  Schedule run_sched;
  Bind bind = Bind::kFalse;  // bind-var of this level
  bool dynamic = false;      // dyn-var
  uintptr_t allocator = 1;   // def-allocator-var: an omp_allocator_handle_t
  // place-partition-var: of Device::places
  int place_first = 0;
  int place_count = 0;
  bool operator==(const Icvs&) const = default;
};

enum class WaitPolicy : uint8_t { kHybrid, kActive, kPassive };
enum class Offload : uint8_t { kDefault, kMandatory, kDisabled };
enum class DisplayEnv : uint8_t { kNo, kYes, kVerbose };
enum class IdentityWish : uint8_t { kOwn, kWorker };

inline constexpr int kMostLevels = 255;       // supported active levels
inline constexpr int kNoThreadLimit = 0x7fffffff;

// Constant once read, but for what omp_set_... of the device's scope changes: those are atomic or locked where they are.
struct Device {
  Icvs initial;                    // of the initial tasks
  std::vector<int> nthreads_list;  // OMP_NUM_THREADS; [0] is in `initial`; empty: not given
  std::vector<Bind> bind_list;     // OMP_PROC_BIND; the same
  Bind teams_bind = Bind::kSpread; // KMP_TEAMS_PROC_BIND: where the initial threads of a league are
  bool bind_unset_after = false;   // OMP_PROC_BIND=…,unset: levels below the list are not bound
  std::vector<std::vector<int>> places;  // OMP_PLACES: CPUs of each; empty: none
  int procs = 1;                   // usable CPUs: affinity and quota
  std::vector<int> cpus;           // KMP_HW_SUBSET: those that are used; empty: all
  int share = 1;                   // of them; fewer where other processes of the same MPI job use them, too
  int workers = 0;                 // WEFT_WORKERS; 0: share
  bool cancel = false;             // cancel-var
  WaitPolicy wait = WaitPolicy::kHybrid;
  int64_t spin_us = -1;            // hybrid: how long to look before sleeping; -1: not said. KMP_BLOCKTIME, GOMP_SPINCOUNT
  IdentityWish identity = IdentityWish::kOwn;  // WEFT_OMP_IDENTITY
  size_t stack_size = 0;           // bytes, of a thread; 0: the default
  int max_task_priority = 0;
  std::atomic<int> num_teams{0};   // nteams-var; 0: none
  std::atomic<int> teams_thread_limit{0};  // 0: none
  Offload offload = Offload::kDefault;     // target-offload-var
  DisplayEnv display_env = DisplayEnv::kNo;
  bool display_affinity = false;
  std::string affinity_format = "level %L thread %i affinity %A";  // at first; as it is now: affinity.hpp
  bool stats = false;              // WEFT_OMP_STATS: what has been done is told at the end
  bool verbose = false;            // WEFT_OMP_VERBOSE: notes about what is ignored
  bool tool = true;                // tool-var
  std::string tool_libraries;      // tool-libraries-var: names, with colons between
  std::string tool_verbose_init;   // tool-verbose-init-var: where it is told how a tool has been found; empty: nowhere
};

// Read from the environment at the first call; warnings about what is wrong there go to stderr then.
Device& device();
// Round a fork: nobody is about to read it then.
void device_lock();
void device_unlock();

// What a task at `level` (nesting level of parallel regions, active or not) below one with `outer` begins with: nthreads-var
// and bind-var of that level.
Icvs icvs_inside(const Icvs& outer, int level);
// Whether OMP_PROC_BIND says something of the regions of this level.
bool list_says_bind(int level);

}  // namespace weft::omp
