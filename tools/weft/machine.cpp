#include "machine.hpp"

#include <fmt/format.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <cmath>
#include <set>
#include <sstream>

#include "affinity.hpp"
#include "block/watch.hpp"
#include "env.hpp"
#include "os/file.hpp"
#include "os/membarrier.hpp"
#include "os/quota.hpp"
#include "os/topology.hpp"
#include "weft/weft.h"

namespace weft::command {
namespace {

std::string first_line(const std::string& path) {
  const std::string text = rt::read_file(path).value_or("");
  return text.substr(0, text.find('\n'));
}

std::string processor() {
  std::istringstream lines(rt::read_file("/proc/cpuinfo").value_or(""));
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("model name")) return line.substr(std::min(line.find(':') + 2, line.size()));
  }
  return "unknown";
}

std::string kernel_release() {
  utsname names{};
  return ::uname(&names) == 0 ? std::string(names.sysname) + " " + names.release + " " + names.machine : "unknown";
}

Report feature(const char* name, Report found, const char* use) {
  Report result = Report::object();
  result.add("name", name);
  result.add("found", std::move(found));
  result.add("for", use);
  return result;
}

bool has_guards() {
  constexpr int kGuardInstall = 102;  // MADV_GUARD_INSTALL, which the C library's headers may not know
  const auto page = static_cast<size_t>(::sysconf(_SC_PAGESIZE));
  void* const memory = ::mmap(nullptr, page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return false;
  const bool has = ::madvise(memory, page, kGuardInstall) == 0;
  ::munmap(memory, page);
  return has;
}

const char* rung_name() {
  switch (rt::watch_find_rung(rt::BlockRung::Auto)) {
    case rt::BlockRung::Bpf: return "an eBPF program";
    case rt::BlockRung::Perf: return "records of perf_event_open()";
    case rt::BlockRung::Proc: return "files of /proc";
    default: return "nothing";
  }
}

// "always [madvise] never"
std::string chosen(const std::string& line) {
  const size_t open = line.find('['), close = line.find(']');
  return open < close && close != line.npos ? line.substr(open + 1, close - open - 1) : "none";
}

Report identities() {
  weft_options_t options{.workers = 1, .stack_size = 0, .bind = 0, .idle_spin_us = 0};
  if (::weft_initialize(&options) != WEFT_OK) return Report::none();
  weft_identity_info_t info{};
  ::weft_identity_info(&info);
  Report result = info.why_not != nullptr ? Report("no: " + std::string(info.why_not))
                  : info.by_instruction   ? Report("by an instruction (FSGSBASE)")
                                          : Report("by a system call");
  ::weft_finalize();
  return result;
}

}  // namespace

Report describe_machine() {
  const omp::Machine machine = omp::this_machine();
  const double quota = rt::cpu_quota();
  const auto count = [&](omp::PlaceKind kind) { return static_cast<int>(omp::places_of_kind(machine, kind).size()); };
  Report result = Report::object();
  result.add("processor", processor());
  result.add("kernel", kernel_release());
  result.add("cpus of the machine", static_cast<int>(::sysconf(_SC_NPROCESSORS_ONLN)));
  result.add("cpus allowed", omp::text_of_cpus(machine.cpus));
  result.add("cores", count(omp::PlaceKind::kCores));
  result.add("last-level caches", count(omp::PlaceKind::kCaches));
  result.add("sockets", count(omp::PlaceKind::kSockets));
  result.add("memory nodes", count(omp::PlaceKind::kNodes));
  result.add("cpu quota", std::isinf(quota) ? Report::none() : Report(quota));
  result.add("workers by default", machine.share);
  return result;
}

Report describe_kernel() {
  Report result = Report::list();
  result.add(feature("own identities", identities(), "OpenMP threads keep their thread-local variables wherever they run"));
  result.add(feature("how a blocked thread is seen", rung_name(), "a worker goes on while its ULT sleeps in the kernel"));
  result.add(feature("membarrier()", rt::membarrier_register(), "fences that cost the hot side nothing"));
  result.add(feature("MADV_GUARD_INSTALL", has_guards(), "guards of stacks that need no mapping of their own"));
  result.add(feature("transparent huge pages", chosen(first_line("/sys/kernel/mm/transparent_hugepage/enabled")),
                     "stacks with WEFT_HUGE_PAGES"));
  result.add(feature("kernel.perf_event_paranoid", first_line("/proc/sys/kernel/perf_event_paranoid"),
                     "2 or less: perf_event_open() for everybody"));
  result.add(feature("kernel.threads-max", first_line("/proc/sys/kernel/threads-max"), "bounds own identities"));
  return result;
}

}  // namespace weft::command
