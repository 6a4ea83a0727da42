// kmp_settings.cpp: kmp_set_…() and kmp_get_…(): Intel's extensions that set what environment variables set.
//
// Three names for most: kmp_x() for C, kmp_x_() for Fortran, whose arguments are pointers, kmpc_x() for compilers.
#include <strings.h>
#include <sys/resource.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <string>

#include "icv.hpp"
#include "llvm/ident.hpp"
#include "team.hpp"

namespace weft::omp::llvm {
namespace {

constexpr size_t kLeastStack = size_t{32} << 10;

bool started() { return this_thread_if_any() != nullptr; }

// Of threads that are made from now on.
void set_stack(size_t bytes) { std::atomic_ref(device().stack_size).store(std::max(bytes, kLeastStack)); }

size_t stack() {
  if (const size_t bytes = std::atomic_ref(device().stack_size).load(); bytes != 0) return bytes;
  constexpr size_t kUsual = size_t{8} << 20;
  rlimit limit = {};
  if (getrlimit(RLIMIT_STACK, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return kUsual;
  return limit.rlim_cur;
}

// How long a thread without work looks for some before it sleeps: milliseconds.
constexpr int kUsualBlocktime = 200;
void set_blocktime(int milliseconds) {
  std::atomic_ref(device().spin_us).store(int64_t{std::max(milliseconds, 0)} * 1000, std::memory_order_relaxed);
}
int blocktime() {
  if (device().wait == WaitPolicy::kActive) return 0x7fffffff;
  if (device().wait == WaitPolicy::kPassive) return 0;
  const int64_t us = std::atomic_ref(device().spin_us).load(std::memory_order_relaxed);
  return us < 0 ? kUsualBlocktime : static_cast<int>(std::min<int64_t>(us / 1000, 0x7fffffff));
}

// What the program does besides: throughput: others want the machine too; turnaround: nobody does; serial: no regions.
enum Library : int { kSerial = 1, kTurnaround = 2, kThroughput = 3 };
std::atomic<int> library{kThroughput};

void set_library(int kind) {
  if (kind < kSerial || kind > kThroughput) return;
  library.store(kind, std::memory_order_relaxed);
  own_icvs(this_member()).nthreads = kind == kSerial ? 1 : device().initial.nthreads;
}

void set_offload(const char* word) {
  device().offload = strcasecmp(word, "disabled") == 0    ? Offload::kDisabled
                     : strcasecmp(word, "mandatory") == 0 ? Offload::kMandatory
                                                          : Offload::kDefault;
}

// As if the environment had it. That has been read when the runtime starts; one of them still counts then.
void set_default(const std::string& name, const std::string& value, bool late) {
  if (!late) setenv(name.c_str(), value.c_str(), 1);
  if (late && name == "OMP_TARGET_OFFLOAD") set_offload(value.c_str());
}

// "NAME=value|NAME=value"
void set_defaults(std::string text) {
  const bool late = started();
  size_t from = 0;
  while (from < text.size()) {
    const size_t end = std::min(text.find('|', from), text.size());
    const std::string entry = text.substr(from, end - from);
    if (const size_t equals = entry.find('='); equals != std::string::npos && equals > 0) {
      set_default(entry.substr(0, equals), entry.substr(equals + 1), late);
    }
    from = end + 1;
  }
}

}  // namespace
}  // namespace weft::omp::llvm

using namespace weft::omp;
using namespace weft::omp::llvm;

WEFT_OMP_API void kmp_set_stacksize(int bytes) { set_stack(bytes > 0 ? static_cast<size_t>(bytes) : 0); }
WEFT_OMP_API void kmp_set_stacksize_(const int* bytes) { kmp_set_stacksize(*bytes); }
WEFT_OMP_API void kmpc_set_stacksize(int bytes) { kmp_set_stacksize(bytes); }
WEFT_OMP_API void kmp_set_stacksize_s(size_t bytes) { set_stack(bytes); }
WEFT_OMP_API void kmp_set_stacksize_s_(const size_t* bytes) { set_stack(*bytes); }
WEFT_OMP_API void kmpc_set_stacksize_s(size_t bytes) { set_stack(bytes); }
WEFT_OMP_API int kmp_get_stacksize() { return static_cast<int>(std::min<size_t>(stack(), 0x7fffffff)); }
WEFT_OMP_API int kmp_get_stacksize_() { return kmp_get_stacksize(); }
WEFT_OMP_API size_t kmp_get_stacksize_s() { return stack(); }
WEFT_OMP_API size_t kmp_get_stacksize_s_() { return stack(); }

WEFT_OMP_API void kmp_set_blocktime(int milliseconds) { set_blocktime(milliseconds); }
WEFT_OMP_API void kmp_set_blocktime_(const int* milliseconds) { set_blocktime(*milliseconds); }
WEFT_OMP_API void kmpc_set_blocktime(int milliseconds) { set_blocktime(milliseconds); }
WEFT_OMP_API int kmp_get_blocktime() { return blocktime(); }
WEFT_OMP_API int kmp_get_blocktime_() { return blocktime(); }

WEFT_OMP_API void kmp_set_library(int kind) { set_library(kind); }
WEFT_OMP_API void kmp_set_library_(const int* kind) { set_library(*kind); }
WEFT_OMP_API void kmpc_set_library(int kind) { set_library(kind); }
WEFT_OMP_API void kmp_set_library_serial() { set_library(kSerial); }
WEFT_OMP_API void kmp_set_library_serial_() { set_library(kSerial); }
WEFT_OMP_API void kmp_set_library_turnaround() { set_library(kTurnaround); }
WEFT_OMP_API void kmp_set_library_turnaround_() { set_library(kTurnaround); }
WEFT_OMP_API void kmp_set_library_throughput() { set_library(kThroughput); }
WEFT_OMP_API void kmp_set_library_throughput_() { set_library(kThroughput); }
WEFT_OMP_API int kmp_get_library() { return library.load(std::memory_order_relaxed); }
WEFT_OMP_API int kmp_get_library_() { return kmp_get_library(); }

WEFT_OMP_API void kmp_set_defaults(const char* text) { set_defaults(text); }
WEFT_OMP_API void kmp_set_defaults_(const char* text, int length) {
  set_defaults(std::string(text, static_cast<size_t>(std::max(length, 0))));
}
WEFT_OMP_API void kmpc_set_defaults(const char* text) { set_defaults(text); }

// How many loops a thread may be ahead of the others: as many as there are, here.
WEFT_OMP_API void kmp_set_disp_num_buffers(int) {}
WEFT_OMP_API void kmp_set_disp_num_buffers_(const int*) {}
WEFT_OMP_API void kmpc_set_disp_num_buffers(int) {}

// Warnings are about the environment, and come before a program can ask for this.
WEFT_OMP_API void kmp_set_warnings_on() {}
WEFT_OMP_API void kmp_set_warnings_on_() {}
WEFT_OMP_API void kmp_set_warnings_off() {}
WEFT_OMP_API void kmp_set_warnings_off_() {}

WEFT_OMP_API int kmp_get_num_known_threads() { return threads_known(); }
WEFT_OMP_API int kmp_get_num_known_threads_() { return threads_known(); }

WEFT_OMP_API int __kmpc_get_target_offload() {
  switch (device().offload) {
    case Offload::kDisabled: return 0;
    case Offload::kMandatory: return 2;
    default: return 1;
  }
}

extern "C" int omp_pause_resource_all(int kind);

// Of libomptarget's: the host is paused as omp_pause_resource() says.
WEFT_OMP_API int __kmpc_pause_resource(int kind) { return omp_pause_resource_all(kind); }
