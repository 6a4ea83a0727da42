// parallel.hpp: loops and reductions over indices, iterators and ranges, by halving with fork_join().
//
// A range is halved until a piece has at most `grain` elements; pieces that no worker takes are done by the
// caller, in order. A range without random access is walked once before, to see where its pieces of `grain`
// elements begin, and once more to count it where no grain is given. Exceptions: as fork_join(): every piece
// is completed as far as it goes, then the exception of the first piece that threw is rethrown.
// Context: ULT, tasklet; elsewhere the caller does everything itself. May suspend (a tasklet blocks its
// worker).
#pragma once

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <functional>
#include <iterator>
#include <ranges>
#include <type_traits>
#include <utility>
#include <vector>

#include "weft/fork_join.hpp"
#include "weft/weft.h"

namespace weft {
namespace detail {

template <class I>
concept loop_index = (std::integral<I> && !std::same_as<I, bool>) || std::random_access_iterator<I>;

// Unsigned, so that the distance from INT_MIN to INT_MAX has a value.
template <loop_index I>
constexpr std::size_t distance(I first, I last) {
  if (!(first < last)) {
    return 0;
  }
  if constexpr (std::integral<I>) {
    return static_cast<std::size_t>(last) - static_cast<std::size_t>(first);
  } else {
    return static_cast<std::size_t>(last - first);
  }
}

template <loop_index I>
constexpr I advanced(I first, std::size_t n) {
  if constexpr (std::integral<I>) {
    return static_cast<I>(static_cast<std::size_t>(first) + n);
  } else {
    return first + static_cast<std::iter_difference_t<I>>(n);
  }
}

// What the body is called with: an index itself, or what an iterator refers to.
template <class I>
constexpr decltype(auto) element(const I& i) {
  if constexpr (std::integral<I>) {
    return I(i);
  } else {
    return *i;
  }
}

template <class I>
using element_type = decltype(element(std::declval<const I&>()));

// Eight pieces per worker: enough that the slowest worker is waited for an eighth of its share.
inline std::size_t default_grain(std::size_t n) {
  constexpr std::size_t kPiecesPerWorker = 8;
  const std::size_t workers = weft_initialized() ? std::max(1u, weft_workers_active()) : 1u;
  return std::max<std::size_t>(1, n / (workers * kPiecesPerWorker));
}

template <class I, class B>
void for_split(I first, I last, std::size_t grain, B& body) {
  const std::size_t n = detail::distance(first, last);
  if (n <= grain) {
    for (; first < last; ++first) {
      std::invoke(body, element(first));
    }
    return;
  }
  const I middle = advanced(first, n / 2);
  weft::fork_join([&, first, middle, grain] { for_split(first, middle, grain, body); },
                  [&, middle, last, grain] { for_split(middle, last, grain, body); });
}

// A map is called with an element; a piece body with (first, last, value so far) of a whole piece.
template <class M, class I, class T>
concept piece_body = std::is_invocable_r_v<T, M&, I, I, T>;

// From `value` on, over one piece.
template <class I, class T, class M, class C>
T fold_piece(I first, const I& last, T value, M& map, C& combine) {
  if constexpr (piece_body<M, I, T>) {
    return std::invoke(map, first, last, std::move(value));
  } else {
    for (; first != last; ++first) {
      value = std::invoke(combine, std::move(value), std::invoke(map, element(first)));
    }
    return value;
  }
}

template <class I, class T, class M, class C>
T reduce_split(I first, I last, std::size_t grain, const T& identity, M& map, C& combine) {
  const std::size_t n = detail::distance(first, last);
  if (n <= grain) {
    // A reversed range is empty.
    return fold_piece<I, T>(first, first < last ? last : first, identity, map, combine);
  }
  const I middle = advanced(first, n / 2);
  auto [left, right] =
      weft::fork_join([&, first, middle,
                       grain] { return reduce_split(first, middle, grain, identity, map, combine); },
                      [&, middle, last, grain] {
                        return reduce_split(middle, last, grain, identity, map, combine);
                      });
  return std::invoke(combine, std::move(left), std::move(right));
}

// What can be halved without walking it.
template <class R>
concept halving_range = std::ranges::random_access_range<R> && std::ranges::sized_range<R>;

template <class R>
std::size_t count_of_range(R& range) {
  return static_cast<std::size_t>(std::ranges::distance(range));
}

// Where the pieces begin, and the end.
template <class R>
auto piece_starts(R& range, std::size_t grain) {
  std::vector<std::ranges::iterator_t<R>> starts{std::ranges::begin(range)};
  const auto end = std::ranges::end(range);
  for (auto at = starts.front(); at != end; starts.push_back(at)) {
    for (std::size_t n = 0; n < grain && at != end; ++n) {
      ++at;
    }
  }
  return starts;
}

}  // namespace detail

// Calls body(i) for each index, or body(*it) for each iterator, of [first, last). grain (at least
// 1) is the largest piece that is not halved any more; by default an eighth of a worker's share.
// The calls may run at the same time: body must allow that.
template <detail::loop_index I, class B>
  requires(std::invocable<B&, detail::element_type<I>>)
void parallel_for(I first, std::type_identity_t<I> last, std::size_t grain, B&& body) {
  detail::for_split<I>(first, last, std::max<std::size_t>(1, grain), body);
}

template <detail::loop_index I, class B>
  requires(std::invocable<B&, detail::element_type<I>>)
void parallel_for(I first, std::type_identity_t<I> last, B&& body) {
  weft::parallel_for(first, last, detail::default_grain(detail::distance<I>(first, last)), body);
}

// The same over a range: body(element). grain: at least 1.
template <std::ranges::forward_range R, class B>
  requires(std::invocable<B&, std::ranges::range_reference_t<R>>)
void parallel_for(R&& range, std::size_t grain, B&& body) {
  if constexpr (detail::halving_range<R>) {
    const auto first = std::ranges::begin(range);
    weft::parallel_for(first, detail::advanced(first, detail::count_of_range(range)), grain, body);
  } else {
    const auto starts = detail::piece_starts(range, std::max<std::size_t>(1, grain));
    weft::parallel_for(std::size_t{1}, starts.size(), 1, [&](std::size_t i) {
      for (auto at = starts[i - 1]; at != starts[i]; ++at) {
        std::invoke(body, *at);
      }
    });
  }
}

template <std::ranges::forward_range R, class B>
  requires(std::invocable<B&, std::ranges::range_reference_t<R>>)
void parallel_for(R&& range, B&& body) {
  weft::parallel_for(range, detail::default_grain(detail::count_of_range(range)), body);
}

// combine(… combine(combine(identity, map(first)), map(first + 1)) …), bracketed in any way but in
// order: combine must be associative and identity neutral, it need not be commutative.
// Instead of map(element) a whole piece can be folded at once by map(first, last, T value) -> T.
// Returns identity for an empty range.
template <detail::loop_index I, class T, class M, class C>
  requires(std::is_invocable_r_v<T, C&, T, T> &&
           (detail::piece_body<M, I, T> || std::invocable<M&, detail::element_type<I>>))
T parallel_reduce(I first, std::type_identity_t<I> last, std::size_t grain, T identity, M&& map,
                  C&& combine) {
  return detail::reduce_split<I, T>(first, last, std::max<std::size_t>(1, grain), identity, map,
                                    combine);
}

template <detail::loop_index I, class T, class M, class C>
  requires(std::is_invocable_r_v<T, C&, T, T> &&
           (detail::piece_body<M, I, T> || std::invocable<M&, detail::element_type<I>>))
T parallel_reduce(I first, std::type_identity_t<I> last, T identity, M&& map, C&& combine) {
  return weft::parallel_reduce(first, last, detail::default_grain(detail::distance<I>(first, last)),
                               std::move(identity), map, combine);
}

// The same over a range; a whole piece is map(first, last, T value) with iterators of the range.
template <std::ranges::forward_range R, class T, class M, class C>
  requires(std::is_invocable_r_v<T, C&, T, T> &&
           (detail::piece_body<M, std::ranges::iterator_t<R>, T> ||
            std::invocable<M&, std::ranges::range_reference_t<R>>))
T parallel_reduce(R&& range, std::size_t grain, T identity, M&& map, C&& combine) {
  if constexpr (detail::halving_range<R>) {
    const auto first = std::ranges::begin(range);
    return weft::parallel_reduce(first, detail::advanced(first, detail::count_of_range(range)), grain,
                                 std::move(identity), map, combine);
  } else {
    const auto starts = detail::piece_starts(range, std::max<std::size_t>(1, grain));
    const auto fold = [&](std::size_t first, std::size_t last, T value) {
      return detail::fold_piece(starts[first - 1], starts[last - 1], std::move(value), map, combine);
    };
    return weft::parallel_reduce(std::size_t{1}, starts.size(), 1, std::move(identity), fold, combine);
  }
}

template <std::ranges::forward_range R, class T, class M, class C>
  requires(std::is_invocable_r_v<T, C&, T, T> &&
           (detail::piece_body<M, std::ranges::iterator_t<R>, T> ||
            std::invocable<M&, std::ranges::range_reference_t<R>>))
T parallel_reduce(R&& range, T identity, M&& map, C&& combine) {
  return weft::parallel_reduce(range, detail::default_grain(detail::count_of_range(range)),
                               std::move(identity), map, combine);
}

}  // namespace weft
