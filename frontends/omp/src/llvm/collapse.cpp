// collapse.cpp: nests of loops that are collapsed into one whose trip count the compiler leaves to us.
//
// A bound of a loop may depend on one outer variable: first + slope * outer. All is counted in 128 bits, where nothing of 64
// overflows. Nests that are not rectangular are counted by walking through all but the innermost loop.
#include <algorithm>
#include <cstdint>
#include <vector>

#include "llvm/ident.hpp"
#include "llvm/static_deal.hpp"
#include "team.hpp"

namespace weft::omp::llvm {
namespace {

using Wide = __int128;

enum Comparison : int32_t { kLessOrEqual, kGreaterOrEqual, kNotEqual, kLess, kGreater };

// A loop, as compilers lay it out. Types are uint8 (0), int8, uint16, int16, uint32, int32, uint64, int64.
struct Level {
  int32_t type;
  int32_t variable_type;
  int32_t comparison;
  int32_t outer;  // the loop that the bounds depend on; slopes are 0 if on none
  uint64_t first;
  uint64_t first_slope;
  uint64_t last;
  uint64_t last_slope;
  int64_t step;
  uint64_t trip;
};
static_assert(sizeof(Level) == 64);

// A number of a loop's type, whose other bytes are anything.
Wide read(int32_t type, uint64_t bits) {
  switch (type) {
    case 0: return static_cast<uint8_t>(bits);
    case 1: return static_cast<int8_t>(bits);
    case 2: return static_cast<uint16_t>(bits);
    case 3: return static_cast<int16_t>(bits);
    case 4: return static_cast<uint32_t>(bits);
    case 5: return static_cast<int32_t>(bits);
    case 6: return bits;
    default: return static_cast<int64_t>(bits);
  }
}

int64_t step_of(const Level& level) { return level.type < 6 ? static_cast<int32_t>(level.step) : level.step; }

// <, > and != become <= and >=.
void make_canonical(Level& level) {
  const bool up = step_of(level) > 0;
  if (level.comparison == kLess || (level.comparison == kNotEqual && up)) {
    level.last = static_cast<uint64_t>(read(level.type, level.last) - 1);
  } else if (level.comparison == kGreater || level.comparison == kNotEqual) {
    level.last = static_cast<uint64_t>(read(level.type, level.last) + 1);
  } else {
    return;
  }
  level.comparison = up ? kLessOrEqual : kGreaterOrEqual;
}

Wide bound(const Level& level, uint64_t start, uint64_t slope, const std::vector<Wide>& at) {
  const Wide factor = read(level.type, slope);
  return read(level.type, start) + (factor == 0 ? 0 : factor * at[static_cast<size_t>(level.outer)]);
}

Wide first_of(const Level& level, const std::vector<Wide>& at) { return bound(level, level.first, level.first_slope, at); }

uint64_t trip_of(const Level& level, const std::vector<Wide>& at) {
  const Wide first = first_of(level, at);
  const Wide last = bound(level, level.last, level.last_slope, at);
  const int64_t step = step_of(level);
  if (step > 0 ? first > last : first < last) return 0;
  return static_cast<uint64_t>(step > 0 ? (last - first) / step + 1 : (first - last) / -static_cast<Wide>(step) + 1);
}

// Iterations of the loops from `depth` on, the outer ones being at `at`. If iteration `*wanted` is among them, `at` is there
// afterwards and *found is set; otherwise *wanted is less by those.
uint64_t walk(const Level* nest, size_t n, size_t depth, std::vector<Wide>& at, uint64_t* wanted, bool* found) {
  const Level& level = nest[depth];
  const uint64_t trip = trip_of(level, at);
  const Wide first = first_of(level, at);
  if (depth + 1 == n) {
    if (wanted != nullptr && *wanted < trip) {
      at[depth] = first + static_cast<Wide>(*wanted) * step_of(level);
      *found = true;
    } else if (wanted != nullptr) {
      *wanted -= trip;
    }
    return trip;
  }
  uint64_t total = 0;
  for (uint64_t i = 0; i < trip; ++i) {
    at[depth] = first + static_cast<Wide>(i) * step_of(level);
    total += walk(nest, n, depth + 1, at, wanted, found);
    if (wanted != nullptr && *found) break;
  }
  return total;
}

std::vector<Wide> point(const Level* nest, size_t n, uint64_t iteration) {
  std::vector<Wide> at(n);
  bool found = false;
  walk(nest, n, 0, at, &iteration, &found);
  return at;
}

}  // namespace
}  // namespace weft::omp::llvm

using namespace weft::omp;
using namespace weft::omp::llvm;

// Rectangular nests: the trip counts of each loop, and of all.
WEFT_OMP_API uint64_t __kmpc_process_loop_nest_rectang(Ident*, int32_t, Level* nest, int32_t n) {
  const std::vector<Wide> nowhere(static_cast<size_t>(n));
  uint64_t total = 1;
  for (int32_t i = 0; i < n; ++i) {
    make_canonical(nest[i]);
    nest[i].trip = trip_of(nest[i], nowhere);
    total *= nest[i].trip;
  }
  return total;
}

WEFT_OMP_API void __kmpc_calc_original_ivs_rectang(Ident*, uint64_t iteration, const Level* nest, uint64_t* variables,
                                                   int32_t n) {
  for (int32_t i = n - 1; i >= 0; --i) {
    const Level& level = nest[i];
    const Wide value = read(level.type, level.first) + static_cast<Wide>(iteration % level.trip) * step_of(level);
    variables[i] = static_cast<uint64_t>(read(level.variable_type, static_cast<uint64_t>(value)));
    iteration /= level.trip;
  }
}

// Any nest: where the member's part of it begins and ends. 0: it has none.
WEFT_OMP_API int32_t __kmpc_for_collapsed_init(Ident*, int32_t gtid, Level* nest, Level* part, int32_t depth,
                                               int32_t* last) {
  const size_t n = static_cast<size_t>(depth);
  for (size_t i = 0; i < n; ++i) make_canonical(nest[i]);
  if (last != nullptr) *last = 0;
  std::vector<Wide> at(n);
  const uint64_t total = walk(nest, n, 0, at, nullptr, nullptr);
  if (total == 0) return 0;
  uint64_t begin = 0;
  uint64_t end = total - 1;
  const bool has_last = deal_even<uint64_t>({&begin, &end, 1}, seat_in_team(*thread_of(gtid).member));
  if (begin > end) return 0;
  if (last != nullptr) *last = has_last;
  const std::vector<Wide> from = point(nest, n, begin);
  const std::vector<Wide> to = point(nest, n, end);
  for (size_t i = 0; i < n; ++i) {
    part[i] = nest[i];
    part[i].first = static_cast<uint64_t>(from[i]);
    part[i].last = static_cast<uint64_t>(to[i]);
    part[i].first_slope = 0;
    part[i].last_slope = 0;
  }
  return 1;
}
