// main.cpp: the weft command: what it takes.
#include <CLI/CLI.hpp>

#include <algorithm>
#include <string>
#include <vector>

#include "info.hpp"
#include "run.hpp"
#include "weft/weft.h"

namespace {

using namespace weft::command;

// An option of `weft run` that stands for environment variables.
struct Setting {
  const char* option;
  std::vector<const char*> variables;
  std::vector<std::string> words;  // allowed; empty: whatever the library takes
  const char* help;
};

const std::vector<Setting>& settings() {
  static const std::vector<Setting> table = {
      {"--threads", {"OMP_NUM_THREADS"}, {}, "threads of a parallel region; a list: of each level"},
      {"--workers", {"WEFT_WORKERS", "WEFT_WORKERS_COUNT"}, {}, "kernel threads that run them at the same time"},
      {"--bind", {"WEFT_WORKERS_BIND"}, {"on", "off"}, "whether workers are bound to CPUs"},
      {"--proc-bind", {"OMP_PROC_BIND"}, {}, "true, false, or a list of primary, close, spread, with unset at its end"},
      {"--places", {"OMP_PLACES"}, {}, "threads, cores, sockets, ll_caches, numa_domains, or a list such as {0:2},{2:2}"},
      {"--wait", {"OMP_WAIT_POLICY"}, {"hybrid", "active", "passive"}, "how threads wait"},
      {"--preemption", {"WEFT_PREEMPTION"}, {"auto", "on", "off"}, "whether a thread that computes has to let others run"},
      {"--slice", {"WEFT_PREEMPTION_INTERVAL"}, {}, "after how many microseconds"},
      {"--blocking", {"WEFT_BLOCKING"}, {"auto", "on", "off"}, "whether others run while a thread sleeps in the kernel"},
      {"--identity", {"WEFT_OMP_IDENTITY"}, {"own", "worker"},
       "own: threads keep their thread-local variables wherever they run; worker: for programs that need none"},
      {"--stack", {"OMP_STACKSIZE"}, {}, "size of a thread's stack, such as 8M"},
  };
  return table;
}

struct RunLine {
  std::vector<std::string> values;
  bool stats = false;
  bool verbose = false;
};

void add_run_options(CLI::App& run, RunLine& line) {
  line.values.resize(settings().size());
  for (size_t i = 0; i < settings().size(); ++i) {
    const Setting& setting = settings()[i];
    CLI::Option* option = run.add_option(setting.option, line.values[i], setting.help);
    if (!setting.words.empty()) option->check(CLI::IsMember(setting.words));
  }
  run.add_flag("--stats", line.stats, "tell at the end what the threads have done, and how long they have waited");
  run.add_flag("-v,--verbose", line.verbose, "say what is set, which variables mean nothing, and what the system refuses");
  run.prefix_command();
}

RunWish wish_of(const CLI::App& run, const RunLine& line) {
  RunWish wish;
  wish.verbose = line.verbose;
  for (size_t i = 0; i < settings().size(); ++i) {
    if (run.count(settings()[i].option) == 0) continue;
    for (const char* variable : settings()[i].variables) wish.variables.emplace_back(variable, line.values[i]);
  }
  if (line.stats) wish.variables.emplace_back("WEFT_OMP_STATS", "true");
  if (line.verbose) wish.variables.emplace_back("WEFT_OMP_VERBOSE", "true");
  wish.command = run.remaining();
  return wish;
}

// Says what is wrong with the command line. Returns the exit status.
int refuse(const std::string& what) {
  std::fprintf(stderr, "weft run: %s; see weft run --help\n", what.c_str());
  return kWeftFailed;
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("Weft: user-level threads. Runs OpenMP and Argobots programs as they are.", "weft");
  app.require_subcommand(1);
  app.set_version_flag("--version", std::string("weft ") + ::weft_version());
  CLI::App* const run = app.add_subcommand("run", "run a command with Weft in place of other runtimes");
  run->footer("weft run [options] [--] command [arguments]\n\nThe exit status is the command's; 127: it was not found, "
              "126: it cannot be run, 125: weft run itself failed.");
  RunLine line;
  add_run_options(*run, line);
  CLI::App* const info = app.add_subcommand("info", "show the machine, what the kernel can do, and the options");
  bool json = false;
  info->add_flag("--json", json, "as JSON");

  // What stands behind -- is the command's, whatever it looks like. CLI11 wants the others in reverse.
  std::vector<std::string> ours(argv + 1, argv + argc);
  const auto dashes = std::find(ours.begin(), ours.end(), "--");
  const bool has_dashes = dashes != ours.end();
  std::vector<std::string> behind;
  if (has_dashes) {
    behind.assign(dashes + 1, ours.end());
    ours.erase(dashes, ours.end());
  }
  std::reverse(ours.begin(), ours.end());
  try {
    app.parse(ours);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : kWeftFailed;
  }
  if (*info) return weft::command::info(json);
  RunWish wish = wish_of(*run, line);
  if (!wish.command.empty() && wish.command[0].starts_with("-")) return refuse("there is no option " + wish.command[0]);
  // A -- behind the command's beginning was the command's own.
  if (!wish.command.empty() && has_dashes) wish.command.emplace_back("--");
  wish.command.insert(wish.command.end(), behind.begin(), behind.end());
  if (wish.command.empty()) return refuse("which command?");
  return weft::command::run(wish);
}
