#include <algorithm>

#include "env.hpp"

namespace weft::omp {
namespace {

constexpr long kMostCpus = 65536;  // more is a slip of the pen

// What `:length:stride` behind a number or a place says.
struct Run {
  long length = 1;
  long stride = 1;
};

bool read_run(Scan& text, Run& run) {
  if (!text.take(':')) return true;
  if (!text.number(run.length) || run.length < 1 || run.length > kMostCpus) return false;
  if (!text.take(':')) return true;
  return text.number(run.stride) && std::abs(run.stride) < kMostCpus;
}

// In the order written; CPUs below 0 are kept until they are dropped with all others that do not exist.
bool read_place(Scan& text, Place& place) {
  long cpu = 0;
  if (text.number(cpu)) {  // a number alone
    place.push_back(static_cast<int>(cpu));
    return cpu >= 0 && cpu < kMostCpus;
  }
  if (!text.take('{')) return false;
  do {
    const bool without = text.take('!');
    Run run;
    if (!text.number(cpu) || cpu < 0 || cpu >= kMostCpus) return false;
    if (!without && !read_run(text, run)) return false;
    for (long i = 0; i < run.length; ++i) {
      const int next = static_cast<int>(cpu + i * run.stride);
      if (without) {
        std::erase(place, next);
      } else if (std::find(place.begin(), place.end(), next) == place.end()) {
        place.push_back(next);
      }
    }
  } while (text.take(','));
  return text.take('}');
}

Place shifted(const Place& place, long by) {
  Place result;
  for (const int cpu : place) result.push_back(static_cast<int>(cpu + by));
  return result;
}

bool same_cpus(Place a, Place b) {
  std::sort(a.begin(), a.end());
  std::sort(b.begin(), b.end());
  return a == b;
}

bool read_explicit(Scan& text, PlaceList& places) {
  do {
    const bool without = text.take('!');
    Place place;
    Run run;
    if (!read_place(text, place)) return false;
    if (without) {
      std::erase_if(places, [&](const Place& other) { return same_cpus(place, other); });
      continue;
    }
    if (!read_run(text, run)) return false;
    for (long i = 0; i < run.length; ++i) places.push_back(shifted(place, i * run.stride));
  } while (text.take(','));
  return text.at_end();
}

bool kind_of(const std::string& name, PlaceKind& kind) {
  static constexpr struct {
    const char* name;
    PlaceKind kind;
  } kNames[] = {{"threads", PlaceKind::kThreads},   {"cores", PlaceKind::kCores},
                {"sockets", PlaceKind::kSockets},   {"ll_caches", PlaceKind::kCaches},
                {"numa_domains", PlaceKind::kNodes}};
  for (const auto& known : kNames) {
    if (name == known.name) {
      kind = known.kind;
      return true;
    }
  }
  return false;
}

// cores, or cores(4)
bool read_abstract(Scan& text, const Machine& machine, PlaceList& places) {
  PlaceKind kind{};
  if (!kind_of(text.word(), kind)) return false;
  int count = INT_MAX;
  if (text.take('(') && !(text.number(count, 1) && text.take(')'))) return false;
  if (!text.at_end()) return false;
  places = places_of_kind(machine, kind);
  if (places.size() > static_cast<size_t>(count)) places.resize(static_cast<size_t>(count));
  return true;
}

// "0-3:2"
bool read_gomp_range(Scan& text, PlaceList& places) {
  int first = 0, last = 0;
  int stride = 1;
  if (!text.number(first, 0, kMostCpus)) return false;
  last = first;
  if (text.take('-') && !text.number(last, 0, kMostCpus)) return false;
  if (text.take(':') && !text.number(stride, -kMostCpus, kMostCpus)) return false;
  if (last != first && (stride == 0 || (last < first) != (stride < 0))) return false;
  places.push_back({first});
  for (int cpu = first; cpu != last;) {
    cpu += stride;
    if (stride > 0 ? cpu > last : cpu < last) break;
    places.push_back({cpu});
  }
  return true;
}

}  // namespace

bool keep_usable(PlaceList& places, const Machine& machine) {
  const auto usable = [&](int cpu) { return std::binary_search(machine.cpus.begin(), machine.cpus.end(), cpu); };
  for (Place& place : places) std::erase_if(place, [&](int cpu) { return !usable(cpu); });
  std::erase_if(places, [](const Place& place) { return place.empty(); });
  return !places.empty();
}

bool read_places(Scan& text, Reading& reading) {
  PlaceList places;
  Scan ahead = text;
  const bool read = ahead.word().empty() ? read_explicit(text, places) : read_abstract(text, reading.machine, places);
  if (!read || !keep_usable(places, reading.machine)) return false;
  if (reading.affinity_off || reading.places_given) return true;
  reading.device.places = places;
  reading.places_given = true;
  return true;
}

// Ranges with blanks or commas between them.
bool read_gomp_affinity(Scan& text, Reading& reading) {
  PlaceList places;
  do {
    if (!read_gomp_range(text, places)) return false;
  } while (text.take(',') || !text.at_end());
  if (!keep_usable(places, reading.machine)) return false;
  if (reading.affinity_off || reading.places_given) return true;
  reading.device.places = places;
  reading.places_given = true;
  return true;
}

}  // namespace weft::omp
