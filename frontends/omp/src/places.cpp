#include "places.hpp"

namespace weft::omp {
namespace {

// `whole` things in `parts` parts whose sizes differ by one at most, the larger ones first.
struct Parts {
  int whole, parts;
  int begin(int part) const { return part * (whole / parts) + (part < whole % parts ? part : whole % parts); }
  int size(int part) const { return whole / parts + (part < whole % parts ? 1 : 0); }
  int of(int thing) const {
    const int larger = whole / parts + 1, behind = (whole % parts) * larger;
    return thing < behind ? thing / larger : whole % parts + (thing - behind) / (whole / parts);
  }
};

// How many places behind the parent's: one each, or with more threads than places as many each as it takes.
int places_behind(int num, int n, int places) { return n <= places ? num : Parts{n, places}.of(num); }
int before(int num, int n, int places) {
  const Parts parts{n, places};
  return n <= places ? 0 : num - parts.begin(parts.of(num));
}

Placement spread(int num, int n, int at, const Placement& parent) {
  if (n > parent.count) {
    const int place = parent.first + (at + places_behind(num, n, parent.count)) % parent.count;
    return {place, place, 1, before(num, n, parent.count)};
  }
  const Parts parts{parent.count, n};
  const int part = (parts.of(at) + num) % n;
  const int first = parent.first + parts.begin(part);
  return {num == 0 ? parent.first + at : first, first, parts.size(part)};
}

}  // namespace

Placement placement_of(Bind bind, int num, int n, const Placement& parent) {
  if (bind == Bind::kFalse || parent.count <= 0) return {-1, parent.first, parent.count};
  const int inside = parent.place - parent.first;
  const int at = inside >= 0 && inside < parent.count ? inside : 0;
  switch (bind) {
    case Bind::kPrimary: return {parent.first + at, parent.first, parent.count, num};
    case Bind::kSpread: return spread(num, n, at, parent);
    default: break;
  }
  const int place = parent.first + (at + places_behind(num, n, parent.count)) % parent.count;
  return {place, parent.first, parent.count, before(num, n, parent.count)};
}

}  // namespace weft::omp
