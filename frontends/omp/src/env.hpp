// env.hpp: the environment variables of OpenMP, of libgomp and of libomp, as far as they mean something here.
//
//   env.cpp         which variables there are, and what follows from several of them together
//   env_values.cpp  their grammar, but for places
//   env_places.cpp  OMP_PLACES, GOMP_CPU_AFFINITY; env_kmp.cpp: KMP_AFFINITY and other KMP_ variables
//   env_subset.cpp  KMP_HW_SUBSET
//   env_machine.cpp what OMP_PLACES=cores and the like stand for on this machine
//   env_show.cpp    OMP_DISPLAY_ENV
//
// Where several variables say the same, the first one counts: KMP_AFFINITY, OMP_PLACES, GOMP_CPU_AFFINITY; KMP_STACKSIZE,
// OMP_STACKSIZE, GOMP_STACKSIZE; OMP_WAIT_POLICY, KMP_BLOCKTIME, GOMP_SPINCOUNT, KMP_LIBRARY.
#pragma once

#include <string>
#include <vector>

#include "icv.hpp"
#include "os/topology.hpp"
#include "scan.hpp"

namespace weft::omp {

// The name of a variable to its text; null: not set.
using EnvSource = const char* (*)(const char* name);

struct Machine {
  std::vector<int> cpus;            // that the process may use, in ascending order
  std::vector<rt::Pu> pus;          // the same, as far as it is known what they share
  int procs = 1;                    // not more than the quota feeds
  int share = 0;                    // of them, where other processes of the same MPI job use them too; 0: all
  const char* synthetic = nullptr;  // another machine than this one, in hwloc's words, without `pus`: for tests
};
Machine this_machine();
// device().share, unless the calling thread may use other CPUs now than when that was found out: 0.
int share_still();

// Fills in everything. What is to be told to the user is added to `messages`, a line each.
void read_environment(Device& device, const Machine& machine, EnvSource source, std::string& messages);

// A variable, with what it comes to.
struct Shown {
  std::string name;
  std::string value;
};
std::vector<Shown> shown_values(const Device& device, bool verbose);
// The same as OMP_DISPLAY_ENV shows it.
std::string show_environment(const Device& device, bool verbose);

// ---- for the files of the reader

using Place = std::vector<int>;  // CPUs
using PlaceList = std::vector<Place>;
enum class PlaceKind { kThreads, kCores, kSockets, kCaches, kNodes };

// The machine's threads, cores …, each without the CPUs that may not be used; those that are left empty left out.
PlaceList places_of_kind(const Machine& machine, PlaceKind kind);

// Where a CPU is: its number among those of its core, its core's among those of the socket, the socket's.
struct CpuPath {
  int cpu;
  int level[3];  // socket, core, thread
};
std::vector<CpuPath> cpu_paths(const Machine& machine);  // of those that may be used, in the machine's order

// What is known while the variables are read.
struct Reading {
  Device& device;
  Machine machine;  // as much of it as is used
  std::string& messages;
  bool levels_given = false;   // OMP_MAX_ACTIVE_LEVELS
  bool nested_given = false;   // OMP_NESTED
  bool nested = false;
  bool bind_given = false;
  bool places_given = false;
  bool affinity_off = false;   // KMP_AFFINITY=none, disabled
  bool stack_given = false;
  bool wait_given = false;
  bool quiet = false;          // KMP_WARNINGS=off
};

// Each reads one value, leaves everything as it is where that is not allowed, and says so by false. The text is not blank.
using ReadValue = bool (*)(Scan& text, Reading& reading);

struct Variable {
  const char* name;
  ReadValue read;
  const char* takes;  // in words
};

bool read_switch(Scan& text, bool& on);
// Bytes, from a number with an optional B, K, M, G or T; without one it is in `unit`.
bool read_size(Scan& text, size_t unit, size_t& bytes);
bool read_places(Scan& text, Reading& reading);
bool read_gomp_affinity(Scan& text, Reading& reading);
bool read_hw_subset(Scan& text, Reading& reading);
bool read_kmp_affinity(Scan& text, Reading& reading);
bool read_blocktime(Scan& text, Reading& reading);
bool read_library(Scan& text, Reading& reading);
bool read_num_threads(Scan& text, Reading& reading);
bool read_schedule(Scan& text, Reading& reading);
bool read_proc_bind(Scan& text, Reading& reading);
bool read_teams_bind(Scan& text, Reading& reading);
bool read_wait_policy(Scan& text, Reading& reading);
bool read_spin_count(Scan& text, Reading& reading);
bool read_display_env(Scan& text, Reading& reading);
bool read_offload(Scan& text, Reading& reading);
bool read_tool(Scan& text, Reading& reading);
bool read_debug(Scan& text, Reading& reading);  // and does nothing with it
bool read_allocator(Scan& text, Reading& reading);

// Drops the CPUs that may not be used, and places without any. False: none is left.
bool keep_usable(PlaceList& places, const Machine& machine);

}  // namespace weft::omp
