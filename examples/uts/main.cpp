// main.cpp: the unbalanced tree search on all cores: is it right, how fast, and who did what.
//
//   uts [--no-serial] [T1|T1L|T3L …]        WEFT_WORKERS_COUNT=n sets the number of workers

#include <chrono>
#include <cstdio>
#include <cstring>
#include <vector>

#include "walk.hpp"

namespace {

using Stats = std::vector<weft_worker_stats_t>;

struct Arguments {
  bool serial = true;
  std::vector<const uts::Tree*> trees;  // those to run
  bool ok = true;
};

struct Measured {
  uts::Count count;
  double seconds = 0;
};

template <class Walk>
Measured measure(const Walk& walk) {
  const auto start = std::chrono::steady_clock::now();
  const uts::Count count = walk();
  const std::chrono::duration<double> time = std::chrono::steady_clock::now() - start;
  return {count, time.count()};
}

Measured measure_parallel(const uts::Tree& tree) {
  Measured result;
  // Not in main's own ULT: its stack is the process's, 8 MiB, and T3L needs more.
  weft::thread walker(weft::attributes{.name = "walker", .stack_size = uts::kStackSize},
                      [&] { result = measure([&] { return count_in_parallel(tree); }); });
  walker.join();
  return result;
}

Stats read_stats() {
  Stats stats(weft::runtime::workers());
  for (unsigned i = 0; i < stats.size(); ++i) weft_worker_stats(weft_worker_get(i), &stats[i]);
  return stats;
}

unsigned long long number(std::uint64_t value) { return value; }

void print_workers(const Stats& before, const Stats& after) {
  for (std::size_t i = 0; i < after.size(); ++i) {
    const weft_worker_stats_t &a = before[i], &b = after[i];
    std::printf(
        "      worker %zu: took %llu forks of others (%llu steals), switched %llu times, "
        "slept %llu times\n",
        i, number(b.forks - a.forks), number(b.steals - a.steals), number(b.switches - a.switches),
        number(b.sleeps - a.sleeps));
  }
}

bool print_count(const uts::Tree& tree, const uts::Count& count) {
  const bool right = as_expected(tree, count);
  std::printf("%-4s %9llu nodes, %8llu leaves, depth %5d: %s\n", tree.name, number(count.nodes),
              number(count.leaves), count.max_depth, right ? "as published" : "WRONG");
  if (!right) {
    std::printf("      expected: %llu nodes, %llu leaves, depth %d\n", number(tree.nodes),
                number(tree.leaves), tree.max_depth);
  }
  return right;
}

// Serial times are taken before Weft starts: plain C++ on a plain thread.
std::vector<double> measure_serially(const Arguments& arguments) {
  std::vector<double> seconds;
  for (const uts::Tree* tree : arguments.trees) {
    if (!arguments.serial) break;
    const Measured serial = measure([&] { return count_serially(*tree, root_of(*tree)); });
    std::printf("%-4s serially: %6.2f s\n", tree->name, serial.seconds);
    std::fflush(stdout);
    seconds.push_back(as_expected(*tree, serial.count) ? serial.seconds : 0);
  }
  return seconds;
}

bool run_tree(const uts::Tree& tree, double serial_seconds) {
  const Stats before = read_stats();
  const Measured parallel = measure_parallel(tree);
  const Stats after = read_stats();
  const bool right = print_count(tree, parallel.count);
  std::printf("      %.2f s, %.1f million nodes/s", parallel.seconds,
              static_cast<double>(parallel.count.nodes) / parallel.seconds / 1e6);
  if (serial_seconds > 0) {
    std::printf(", %.2f times as fast as serially", serial_seconds / parallel.seconds);
  }
  std::printf("\n");
  print_workers(before, after);
  std::fflush(stdout);
  return right;
}

Arguments parse(int argc, char** argv) {
  Arguments arguments;
  for (int i = 1; i < argc; ++i) {
    const std::size_t known = arguments.trees.size();
    for (const uts::Tree& tree : uts::kTrees) {
      if (std::strcmp(argv[i], tree.name) == 0) arguments.trees.push_back(&tree);
    }
    if (arguments.trees.size() > known) continue;
    arguments.serial = false;
    if (std::strcmp(argv[i], "--no-serial") != 0) arguments.ok = false;
  }
  if (arguments.trees.empty()) {
    for (const uts::Tree& tree : uts::kTrees) arguments.trees.push_back(&tree);
  }
  return arguments;
}

}  // namespace

int main(int argc, char** argv) {
  const Arguments arguments = parse(argc, argv);
  if (!arguments.ok) {
    std::fprintf(stderr, "usage: %s [--no-serial] [T1|T1L|T3L …]\n", argv[0]);
    return 2;
  }
  const std::vector<double> serial = measure_serially(arguments);

  const weft::runtime runtime({.stack_size = uts::kStackSize});
  std::printf("\nUnbalanced tree search with Weft %s on %u workers\n", weft_version(),
              weft::runtime::workers());
  bool right = true;
  for (std::size_t i = 0; i < arguments.trees.size(); ++i) {
    right &= run_tree(*arguments.trees[i], i < serial.size() ? serial[i] : 0);
  }
  return right ? 0 : 1;
}
