#include "stats.hpp"

#include <unistd.h>

#include <cstdio>
#include <cstdlib>

#include "icv.hpp"
#include "os/clock.hpp"
#include "runtime.hpp"
#include "team.hpp"
#include "wait.hpp"

namespace weft::omp {

bool stats_wanted = false;

namespace {

constexpr Stat waits_of(Work work) { return static_cast<Stat>(static_cast<int>(Stat::kWaitTime) + static_cast<int>(work)); }
static_assert(waits_of(Work::kIdle) < Stat::kEnd);

void tell() {
  const std::string text = stats_text();
  // One write, so that the lines of several processes do not mix.
  if (::write(STDERR_FILENO, text.data(), text.size()) < 0) return;
}

std::string line(const char* name, uint64_t count, const std::string& more = {}) {
  char text[160];
  std::snprintf(text, sizeof text, "  %-26s %12llu%s\n", name, static_cast<unsigned long long>(count), more.c_str());
  return text;
}

// `whole` ns: of what it is a part; 0: of nothing.
std::string time_line(const char* name, uint64_t ns, uint64_t whole, const char* more) {
  char text[160], part[16] = "       ";
  if (whole != 0) std::snprintf(part, sizeof part, " %5.1f%%", 100.0 * static_cast<double>(ns) / static_cast<double>(whole));
  std::snprintf(text, sizeof text, "  %-26s %12.3f s%s  %s\n", name, 1e-9 * static_cast<double>(ns), part, more);
  return text;
}

std::string of_them(uint64_t count, const char* what) { return ", " + std::to_string(count) + " " + what; }

}  // namespace

void stats_start() {
  if (!device().stats || stats_wanted) return;
  stats_wanted = true;
  std::atexit(&tell);
}

void stats_forget() {
  for (int i = 0, n = threads_known(); i < n; ++i) {
    if (Thread* thread = thread_at(i)) thread->stats.clear();
  }
}

std::string stats_text() {
  uint64_t sums[static_cast<size_t>(Stat::kEnd)] = {};
  for (int i = 0, n = threads_known(); i < n; ++i) {
    const Thread* thread = thread_at(i);
    for (size_t stat = 0; thread != nullptr && stat < std::size(sums); ++stat) sums[stat] += thread->stats.of(static_cast<Stat>(stat));
  }
  const auto sum = [&sums](Stat stat) { return sums[static_cast<size_t>(stat)]; };
  const uint64_t tasks = sum(Stat::kTasks) + sum(Stat::kTasksCalled);
  if (sum(Stat::kRegions) + sum(Stat::kSerialRegions) + tasks == 0) return {};
  const uint64_t time = sum(Stat::kRegionTime);
  std::string text = "weft: OpenMP in process " + std::to_string(::getpid()) + ", " + std::to_string(worker_count()) + " workers\n";
  text += line("regions", sum(Stat::kRegions), of_them(sum(Stat::kHotRegions), "with all threads there"));
  text += line("regions of one thread", sum(Stat::kSerialRegions));
  text += line("threads started", sum(Stat::kThreads));
  text += line("barriers, of each thread", sum(Stat::kBarriers));
  text += line("tasks", tasks,
               of_them(sum(Stat::kTasksAtOnce) + sum(Stat::kTasksCalled), "not queued") +
                   of_them(sum(Stat::kSteals), "taken by another thread"));
  text += line("sleeps", sum(Stat::kSleeps));
  text += time_line("time in regions", time, 0, "of all their threads together");
  text += time_line("  waits for each other", sum(waits_of(Work::kAny)), time, "at barriers, at regions' ends: imbalance");
  text += time_line("  waits for tasks", sum(waits_of(Work::kDescendants)), time, "taskwait, taskgroup, dependences");
  text += time_line("  waits for one's turn", sum(waits_of(Work::kNone)), time, "ordered, copyprivate");
  text += time_line("waits for a next region", sum(waits_of(Work::kIdle)), 0, "while one thread ran alone");
  return text;
}

void IdleTime::look() {
  x_last = rt::now_ns();
  if (x_since == 0) x_since = x_last;
}

void IdleTime::end(const Member& member, Work work) {
  member.thread->stats.add(waits_of(work), x_last - x_since);
  x_since = 0;
}

}  // namespace weft::omp
