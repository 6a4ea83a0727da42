// static_deal.hpp: which iterations of a loop one of many gets, without asking the others.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "llvm/loop.hpp"
#include "team.hpp"

namespace weft::omp::llvm {

// Who of how many.
struct Seat {
  uint64_t num;
  uint64_t count;
};
inline Seat seat_in_team(const Member& member) {
  return {static_cast<uint64_t>(member.num), static_cast<uint64_t>(member.team->n)};
}
inline Seat seat_in_league(const Member& member) {
  return {static_cast<uint64_t>(member.team->league_num), static_cast<uint64_t>(member.team->league_size)};
}

// A loop's bounds, both inclusive, which become those of a piece.
template <typename T>
struct Bounds {
  using Unsigned = std::make_unsigned_t<T>;
  using Signed = std::make_signed_t<T>;

  T* lower;
  T* upper;
  Signed step;

  uint64_t trip() const { return trip_count<T>(*lower, *upper, step); }

  // Iterations [first, first + count) of it. Numbers outside of the bounds never occur: they might overflow.
  void take(uint64_t first, uint64_t count) {
    const Unsigned base = static_cast<Unsigned>(*lower);
    *lower = at(base, first);
    *upper = at(base, first + count - 1);
  }

  // No iterations: the bounds cross, next to the upper one.
  void take_none() {
    const T edge = *upper;
    const bool up = step > 0;
    const bool at_limit = edge == (up ? std::numeric_limits<T>::max() : std::numeric_limits<T>::min());
    const T beyond = static_cast<T>(up ? static_cast<Unsigned>(edge) + 1U : static_cast<Unsigned>(edge) - 1U);
    const T within = static_cast<T>(up ? static_cast<Unsigned>(edge) - 1U : static_cast<Unsigned>(edge) + 1U);
    *lower = at_limit ? edge : beyond;
    *upper = at_limit ? within : edge;
  }

 private:
  T at(Unsigned base, uint64_t iteration) const {
    return static_cast<T>(base + static_cast<Unsigned>(static_cast<Unsigned>(iteration) * static_cast<Unsigned>(step)));
  }
};

// One piece for each, as even as can be. True: it has the last iteration.
template <typename T>
bool deal_even(Bounds<T> bounds, Seat seat) {
  const uint64_t trip = bounds.trip();
  const uint64_t small = trip / seat.count;
  const uint64_t extra = trip % seat.count;
  const uint64_t first = seat.num * small + std::min(seat.num, extra);
  const uint64_t count = small + (seat.num < extra ? 1 : 0);
  if (count == 0) {
    bounds.take_none();
    return false;
  }
  bounds.take(first, count);
  return first + count == trip;
}

// The first of the pieces that it gets by turns; the others are `*stride` apart.
template <typename T>
bool deal_turns(Bounds<T> bounds, Seat seat, int64_t chunk, std::make_signed_t<T>* stride) {
  const uint64_t trip = bounds.trip();
  const uint64_t size = chunk < 1 ? 1 : std::min(static_cast<uint64_t>(chunk), trip);
  const uint64_t pieces = trip / size + (trip % size != 0 ? 1 : 0);
  *stride = static_cast<std::make_signed_t<T>>(static_cast<uint64_t>(bounds.step) * size * std::min(pieces, seat.count));
  if (seat.num >= pieces) {
    bounds.take_none();
    return false;
  }
  const uint64_t first = seat.num * size;
  bounds.take(first, std::min(size, trip - first));
  return seat.num == (pieces - 1) % seat.count;
}

// One piece for each, of a multiple of `chunk`: simd.
template <typename T>
bool deal_even_multiple(Bounds<T> bounds, Seat seat, int64_t chunk) {
  const uint64_t trip = bounds.trip();
  const uint64_t unit = chunk < 1 ? 1 : static_cast<uint64_t>(chunk);
  const uint64_t even = trip / seat.count + (trip % seat.count != 0 ? 1 : 0);
  const uint64_t size = (even + unit - 1) / unit * unit;
  const uint64_t before = seat.num * size;
  if (before >= trip) {
    bounds.take_none();
    return false;
  }
  const uint64_t count = std::min(size, trip - before);
  bounds.take(before, count);
  return before + count == trip;
}

}  // namespace weft::omp::llvm
