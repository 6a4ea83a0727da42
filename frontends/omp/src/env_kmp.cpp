// env_kmp.cpp: libomp's own variables.

#include <algorithm>
#include <array>

#include "env.hpp"

namespace weft::omp {
namespace {

// KMP_AFFINITY, in libomp's words.
struct Affinity {
  enum class Type { kNone, kCompact, kScatter, kBalanced, kExplicit } type = Type::kNone;
  bool typed = false;
  PlaceKind granularity = PlaceKind::kCores;
  bool verbose = false;
  PlaceList list;  // proclist
  int numbers[2] = {0, 0};  // permute, offset
};

bool read_granularity(Scan& text, PlaceKind& kind) {
  if (!text.take('=')) return false;
  const std::string name = text.word();
  if (name == "fine" || name == "thread") {
    kind = PlaceKind::kThreads;
  } else if (name == "core" || name == "tile" || name == "module") {
    kind = PlaceKind::kCores;
  } else if (name == "package" || name == "socket" || name == "die") {
    kind = PlaceKind::kSockets;
  } else if (name == "node" || name == "numa_domain" || name == "group") {
    kind = PlaceKind::kNodes;
  } else {
    return false;
  }
  return true;
}

// 3, 0-6:2 or {0,1}
bool read_list_item(Scan& text, PlaceList& list) {
  int first = 0, last = 0, stride = 1;
  if (text.take('{')) {
    Place place;
    do {
      if (!text.number(first, 0)) return false;
      place.push_back(first);
    } while (text.take(','));
    list.push_back(place);
    return text.take('}');
  }
  if (!text.number(first, 0, 65535)) return false;
  last = first;
  if (text.take('-') && !(text.number(last, 0, 65535) && (!text.take(':') || text.number(stride, -65535, 65535)))) return false;
  if (stride == 0 || (last - first) / stride < 0) return false;
  for (int cpu = first; stride > 0 ? cpu <= last : cpu >= last; cpu += stride) list.push_back({cpu});
  return true;
}

bool read_list(Scan& text, PlaceList& list) {
  if (!text.take('=') || !text.take('[')) return false;
  do {
    if (!read_list_item(text, list)) return false;
  } while (text.take(','));
  return text.take(']');
}

bool read_item(Scan& text, Affinity& affinity, int& numbers) {
  using Type = Affinity::Type;
  static constexpr struct {
    const char* name;
    Type type;
  } kTypes[] = {{"none", Type::kNone},           {"disabled", Type::kNone},     {"compact", Type::kCompact},
                {"scatter", Type::kScatter},     {"balanced", Type::kBalanced}, {"explicit", Type::kExplicit},
                {"logical", Type::kCompact},     {"physical", Type::kScatter}};
  static constexpr const char* kNoMeaning[] = {"respect", "norespect", "warnings", "nowarnings", "reset", "noreset", "noverbose"};
  if (const std::string word = text.word(); !word.empty()) {
    if (word == "granularity") return read_granularity(text, affinity.granularity);
    if (word == "proclist") return read_list(text, affinity.list);
    if (word == "verbose") return affinity.verbose = true;
    for (const auto& [name, type] : kTypes) {
      if (word != name) continue;
      affinity.type = type;
      return affinity.typed = true;
    }
    return std::find(std::begin(kNoMeaning), std::end(kNoMeaning), word) != std::end(kNoMeaning);
  }
  return numbers < 2 && text.number(affinity.numbers[numbers++], 0);
}

// The CPUs in libomp's order: by the `inner` innermost levels first, the innermost of them most, then from the socket inwards.
// Levels with one thing in each do not count.
std::vector<CpuPath> sorted_paths(const Machine& machine, bool scatter, int permute) {
  std::vector<CpuPath> paths = cpu_paths(machine);
  std::vector<int> levels;
  for (int level = 0; level < 3; ++level) {
    if (std::any_of(paths.begin(), paths.end(), [&](const CpuPath& path) { return path.level[level] > 0; })) levels.push_back(level);
  }
  const int depth = static_cast<int>(levels.size());
  const int inner = std::clamp(scatter ? depth - 1 - permute : permute, 0, std::max(depth - 1, 0));
  std::vector<int> order;
  for (int i = 0; i < inner; ++i) order.push_back(levels[static_cast<size_t>(depth - 1 - i)]);
  for (int i = 0; i < depth - inner; ++i) order.push_back(levels[static_cast<size_t>(i)]);
  std::sort(paths.begin(), paths.end(), [&](const CpuPath& a, const CpuPath& b) {
    for (const int level : order) {
      if (a.level[level] != b.level[level]) return a.level[level] < b.level[level];
    }
    return a.cpu < b.cpu;
  });
  return paths;
}

PlaceList places_in_order(const Machine& machine, const Affinity& affinity) {
  const PlaceList units = places_of_kind(machine, affinity.granularity);
  std::vector<bool> taken(units.size());
  PlaceList places;
  for (const CpuPath& path : sorted_paths(machine, affinity.type == Affinity::Type::kScatter, affinity.numbers[0])) {
    for (size_t i = 0; i < units.size(); ++i) {
      if (taken[i] || std::find(units[i].begin(), units[i].end(), path.cpu) == units[i].end()) continue;
      taken[i] = true;
      places.push_back(units[i]);
    }
  }
  return places;
}

}  // namespace

bool read_kmp_affinity(Scan& text, Reading& reading) {
  Affinity affinity;
  int numbers = 0;
  do {
    if (!read_item(text, affinity, numbers)) return false;
  } while (text.take(','));
  if (!text.at_end()) return false;
  if (affinity.verbose) reading.device.display_affinity = true;
  if (!affinity.typed && affinity.list.empty()) return true;  // modifiers only
  if (affinity.typed && affinity.type == Affinity::Type::kNone) return reading.affinity_off = true;
  PlaceList places = affinity.list;
  if (affinity.type == Affinity::Type::kExplicit && places.empty()) return false;
  if (places.empty()) places = places_in_order(reading.machine, affinity);
  if (!keep_usable(places, reading.machine)) return false;
  const auto offset = static_cast<size_t>(affinity.numbers[1]) % places.size();
  std::rotate(places.begin(), places.begin() + static_cast<std::ptrdiff_t>(offset), places.end());
  reading.device.places = places;
  reading.device.bind_list = {affinity.type == Affinity::Type::kBalanced ? Bind::kSpread : Bind::kClose};
  reading.places_given = reading.bind_given = true;
  return true;
}

// Milliseconds, or with "us"; "infinite".
bool read_blocktime(Scan& text, Reading& reading) {
  long time = 0;
  std::string unit;
  if (text.number(time)) {
    unit = text.word();
    if (time < 0 || time > INT_MAX || !(unit.empty() || unit == "ms" || unit == "us")) return false;
  } else {
    const std::string word = text.word();
    if (word != "infinite" && word != "infinity") return false;
    time = INT_MAX;
  }
  if (!text.at_end()) return false;
  if (reading.wait_given) return true;
  Device& device = reading.device;
  device.wait = time == INT_MAX ? WaitPolicy::kActive : time == 0 ? WaitPolicy::kPassive : WaitPolicy::kHybrid;
  if (device.wait == WaitPolicy::kHybrid) device.spin_us = unit == "us" ? time : 1000 * time;
  return reading.wait_given = true;
}

bool read_library(Scan& text, Reading& reading) {
  const std::string word = text.word();
  if (!text.at_end()) return false;
  if (word == "serial") {
    reading.device.initial.thread_limit = 1;
  } else if (word == "turnaround") {
    if (!reading.wait_given) reading.device.wait = WaitPolicy::kActive;
  } else if (word != "throughput") {
    return false;
  }
  return true;
}

}  // namespace weft::omp
