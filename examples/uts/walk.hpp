// walk.hpp: the unbalanced tree search on Weft.
//
// Every node is a task of its own: no depth at which to stop forking, no grain to choose. A fork
// that nobody takes costs a few nanoseconds beside the 140 that a node's SHA-1 takes.
#pragma once

#include <weft/weft.hpp>

#include "uts.hpp"

namespace uts {

// T3L is some 18 000 nodes deep with three calls for each; whoever takes a fork near its root needs
// all of that. Memory that is not touched costs nothing.
inline constexpr std::size_t kStackSize = std::size_t{64} << 20;

// The subtrees of children first … last - 1 of `parent`, by halving.
inline Count count_children(const Tree& tree, const Node& parent, int first, int last) {
  if (last - first == 1) {
    const Node node = child_of(parent, first);
    const int children = child_count(tree, node);
    if (children == 0) return {1, 1, node.height};
    Count count{1, 0, node.height};
    return count += count_children(tree, node, 0, children);
  }
  const int middle = (first + last + 1) / 2;
  auto [left, right] = weft::fork_join(
      [&tree, &parent, first, middle] { return count_children(tree, parent, first, middle); },
      [&tree, &parent, middle, last] { return count_children(tree, parent, middle, last); });
  return left += right;
}

// Context: ULT with a stack of kStackSize.
inline Count count_in_parallel(const Tree& tree) {
  const Node root = root_of(tree);
  const int children = child_count(tree, root);
  if (children == 0) return {1, 1, 0};
  Count count{1, 0, 0};
  return count += count_children(tree, root, 0, children);
}

}  // namespace uts
