// process.cpp: time, the end of regions' memory, tools, events; and the environment as it is shown.
#include <ctime>
#include <unistd.h>

#include "api/caller.hpp"
#include "api/device.hpp"
#include "api/fortran.hpp"
#include "env.hpp"
#include "region.hpp"
#include "task.hpp"

using namespace weft::omp;

WEFT_OMP_API double omp_get_wtime() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}
WEFT_OMP_PLAIN(omp_get_wtime, "OMP_2.0")

WEFT_OMP_API double omp_get_wtick() {
  timespec tick;
  clock_getres(CLOCK_MONOTONIC, &tick);
  return static_cast<double>(tick.tv_sec) + 1e-9 * static_cast<double>(tick.tv_nsec);
}
WEFT_OMP_PLAIN(omp_get_wtick, "OMP_2.0")

// ---- omp_pause_resource()

namespace {

constexpr int kHard = 2;      // omp_pause_hard
constexpr int kStopTool = 3;  // omp_pause_stop_tool: of all devices at once

int pause_host(int kind) {
  if (this_thread_if_any() == nullptr) return 0;  // it has nothing
  return release_teams(kind == kHard || kind == kStopTool) ? 0 : 1;
}

int pause_all(int kind) {
  const int error = pause_host(kind);
  if (error == 0 && kind == kStopTool) tool::finish();
  return error;
}

}  // namespace

WEFT_OMP_API int omp_pause_resource(int kind, int device_num) {
  return is_host(device_num) && kind != kStopTool ? pause_host(kind) : 1;
}
WEFT_OMP_GNU(omp_pause_resource, "OMP_5.0")
WEFT_OMP_API int omp_pause_resource_(const int32_t* kind, const int32_t* device_num) {
  return omp_pause_resource(*kind, *device_num);
}
WEFT_OMP_GNU(omp_pause_resource_, "OMP_5.0")

WEFT_OMP_API int omp_pause_resource_all(int kind) { return pause_all(kind); }
WEFT_OMP_GNU(omp_pause_resource_all, "OMP_5.0")
WEFT_OMP_API int omp_pause_resource_all_(const int32_t* kind) { return pause_all(*kind); }
WEFT_OMP_GNU(omp_pause_resource_all_, "OMP_5.0")

// ---- others

// The handle, of both compilers', is the task.
WEFT_OMP_API void omp_fulfill_event(Task* event) { event_fulfill(event); }
WEFT_OMP_GNU(omp_fulfill_event, "OMP_5.0.1")
WEFT_OMP_API void omp_fulfill_event_(Task* event) { event_fulfill(event); }
WEFT_OMP_GNU(omp_fulfill_event_, "OMP_5.0.1")

WEFT_OMP_API int omp_control_tool(int command, int modifier, void* arg) {
  const tool::Entry entry(WEFT_OMP_CALLER);
  return tool::control(static_cast<uint64_t>(command), static_cast<uint64_t>(modifier), arg);
}
WEFT_OMP_API int omp_control_tool_(const int32_t* command, const int32_t* modifier, void* arg) {
  return omp_control_tool(*command, *modifier, arg);
}

WEFT_OMP_API void omp_display_env(int verbose) {
  const std::string text = show_environment(device(), verbose != 0);
  if (::write(STDERR_FILENO, text.data(), text.size()) < 0) return;
}
WEFT_OMP_NUMBER(omp_display_env, "OMP_5.1")
