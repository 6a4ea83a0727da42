// env_subset.cpp: KMP_HW_SUBSET: a part of the machine, in libomp's words.
//
//   1s,4c,1t   of the first socket the first four cores, of each of them one thread; what is not named is used whole
//   2c@1       two cores of each socket, from its second one on
//   *s,2c      all sockets
//   :1s,3t     of these levels only: three threads of a socket, of whatever cores
#include <algorithm>
#include <climits>
#include <map>

#include "env.hpp"

namespace weft::omp {
namespace {

struct Level {
  PlaceKind kind;
  bool given = false;
  int count = 0;
  int first = 0;
};

// From the outside inwards.
struct Subset {
  Level levels[5] = {{PlaceKind::kSockets}, {PlaceKind::kNodes}, {PlaceKind::kCaches}, {PlaceKind::kCores}, {PlaceKind::kThreads}};
  bool named_only = false;

  Level* level(PlaceKind kind) {
    return std::find_if(std::begin(levels), std::end(levels), [kind](const Level& level) { return level.kind == kind; });
  }
  bool counts(const Level& level) const {
    return level.given || (!named_only && level.kind != PlaceKind::kNodes && level.kind != PlaceKind::kCaches);
  }
};

bool kind_of(const std::string& word, PlaceKind& kind) {
  static constexpr struct {
    const char* name;
    PlaceKind kind;
  } kWords[] = {{"s", PlaceKind::kSockets}, {"socket", PlaceKind::kSockets},  {"sockets", PlaceKind::kSockets},
                {"n", PlaceKind::kNodes},   {"numa", PlaceKind::kNodes},      {"numa_domain", PlaceKind::kNodes},
                {"numa_domains", PlaceKind::kNodes},                          {"ll_cache", PlaceKind::kCaches},
                {"ll_caches", PlaceKind::kCaches},                            {"c", PlaceKind::kCores},
                {"core", PlaceKind::kCores}, {"cores", PlaceKind::kCores},    {"t", PlaceKind::kThreads},
                {"thread", PlaceKind::kThreads},                              {"threads", PlaceKind::kThreads}};
  for (const auto& [name, meaning] : kWords) {
    if (word != name) continue;
    kind = meaning;
    return true;
  }
  return false;
}

bool read_level(Scan& text, Subset& subset) {
  int count = INT_MAX;
  if (!text.take('*') && !text.number(count, 1, INT_MAX - 1)) return false;
  PlaceKind kind{};
  if (!kind_of(text.word(), kind)) return false;
  Level& level = *subset.level(kind);
  if (level.given) return false;
  level.given = true;
  level.count = count;
  return !text.take('@') || text.number(level.first, 0, INT_MAX - 1);
}

using Inside = std::map<int, std::vector<int>>;  // of each CPU: what it is in, from the outside inwards

// Takes away what the level leaves out. False: the machine has not so much.
bool narrow(Inside& inside, const Level& level, const PlaceList& things) {
  std::map<int, int> thing_of;
  std::map<std::vector<int>, std::vector<int>> there;  // in what, which of these things there are
  for (int i = 0; i < static_cast<int>(things.size()); ++i) {
    for (const int cpu : things[static_cast<size_t>(i)]) {
      if (!inside.contains(cpu)) continue;
      thing_of[cpu] = i;
      std::vector<int>& known = there[inside[cpu]];
      if (known.empty() || known.back() != i) known.push_back(i);
    }
  }
  if (level.given) {
    int most = 0;
    for (const auto& [in, known] : there) most = std::max(most, static_cast<int>(known.size()));
    if (level.first >= most || (level.count != INT_MAX && level.count > most - level.first)) return false;
    std::erase_if(inside, [&](const auto& entry) {
      const std::vector<int>& known = there[entry.second];
      const auto number = static_cast<int>(std::find(known.begin(), known.end(), thing_of[entry.first]) - known.begin());
      return number < level.first || number - level.first >= level.count;
    });
  }
  for (auto& [cpu, in] : inside) in.push_back(thing_of[cpu]);
  return true;
}

// The CPUs of the subset. None: the machine has not so much.
std::vector<int> cpus_of(const Subset& subset, const Machine& machine) {
  Inside inside;
  for (const int cpu : machine.cpus) inside[cpu] = {};
  for (const Level& level : subset.levels) {
    if (subset.counts(level) && !narrow(inside, level, places_of_kind(machine, level.kind))) return {};
  }
  std::vector<int> cpus;
  for (const auto& [cpu, in] : inside) cpus.push_back(cpu);
  return cpus;
}

}  // namespace

bool read_hw_subset(Scan& text, Reading& reading) {
  std::string whole(text.rest());
  // Between two levels a comma, or an x.
  std::replace_if(whole.begin(), whole.end(), [](char c) { return c == 'x' || c == 'X'; }, ',');
  Scan scan(whole);
  Subset subset;
  subset.named_only = scan.take(':');
  do {
    if (!read_level(scan, subset)) return false;
  } while (scan.take(','));
  if (!scan.at_end()) return false;
  std::vector<int> cpus = cpus_of(subset, reading.machine);
  if (cpus.empty()) return false;
  Device& device = reading.device;
  device.cpus = reading.machine.cpus = std::move(cpus);
  device.procs = device.initial.nthreads = std::min(device.procs, static_cast<int>(device.cpus.size()));
  return true;
}

}  // namespace weft::omp
