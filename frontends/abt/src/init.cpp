// init.cpp: the runtime's start and end.
//
// Rejected: Argobots' count, which a refused ABT_finalize() has already lowered.
#include <pthread.h>

#include <cstdlib>
#include <mutex>
#include <new>
#include <utility>

#include "abt.h"
#include "environment.hpp"
#include "pool.hpp"
#include "report.hpp"
#include "runtime.hpp"
#include "self.hpp"
#include "tool.hpp"
#include "weft/weft.h"
#include "xstream.hpp"

namespace weft::abt {

constinit State state;

namespace {

constinit std::mutex setup;

// Programs create units as soon as they have initialised Argobots, which has such memory by then. The runtime itself has a few of the first ones.
constexpr unsigned kUnitsAhead = 256 + 32;

// The core's own handler has been called, which was registered before.
void go_on_in_child() noexcept {
  new (&setup) std::mutex;
  if (running() && !xstreams_in_child()) state.initialized.store(0, std::memory_order_release);
}

bool follow_forks() noexcept {
  static constinit bool follows = false;
  if (!follows) follows = pthread_atfork(nullptr, nullptr, go_on_in_child) == 0;
  return follows;
}

int start() noexcept {
  if (!follow_forks()) return ABT_ERR_MEM;
  const Environment environment = read_environment();
  weft_options_t options{};
  options.workers = 1;
  options.bind = -1;
  options.stack_size = environment.thread_stack_size;
  state.environment = environment;
  restart_pool_ids();
  forget_stack_dump();
  if (const int error = front::initialize(&options); error != WEFT_OK) return from_core(error);
  state.ids_before = front::unit_ids_given();
  front::units_make_ahead(kUnitsAhead);
  int error = set_places(std::exchange(state.environment.affinity, nullptr));
  if (error == ABT_SUCCESS) error = start_primary();
  if (error != ABT_SUCCESS) static_cast<void>(front::finalize());
  return error;
}

bool stop() noexcept {
  if (!end_xstreams()) return false;
  detach_tool();
  static_cast<void>(front::finalize());
  static_cast<void>(set_places(nullptr));
  return true;
}

}  // namespace
}  // namespace weft::abt

using namespace weft::abt;

extern "C" {

int ABT_init(int, char**) {
  std::lock_guard hold(setup);
  const int count = state.initialized.load(std::memory_order_relaxed);
  if (count == 0) {
    if (const int error = start(); error != ABT_SUCCESS) return error;
  }
  state.initialized.store(count + 1, std::memory_order_release);
  if (count == 0 && state.environment.print_config) static_cast<void>(ABT_info_print_config(stdout));
  return ABT_SUCCESS;
}

int ABT_finalize(void) {
  std::unique_lock hold(setup);
  const int count = state.initialized.load(std::memory_order_relaxed);
  if (count == 0) return ABT_ERR_UNINITIALIZED;
  if (count == 1) {
    const Xstream* mine = my_xstream();
    if (mine == nullptr || (!mine->primary && !weft::front::workers_are_taken())) return ABT_ERR_INV_XSTREAM;
    if (weft::front::self() != weft::front::primary()) return ABT_ERR_INV_THREAD;
    // What is left to do may be anything.
    hold.unlock();
    const bool stopped = stop();
    hold.lock();
    if (!stopped) return ABT_ERR_INV_XSTREAM;
  }
  state.initialized.store(count - 1, std::memory_order_release);
  return ABT_SUCCESS;
}

int ABT_initialized(void) { return running() ? ABT_SUCCESS : ABT_ERR_UNINITIALIZED; }

}  // extern "C"
