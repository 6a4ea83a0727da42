// uts.hpp: the unbalanced tree search, a benchmark of dynamic load balancing.
//
// Source: S. Olivier, J. Huan, J. Liu, J. Prins, J. Dinan, P. Sadayappan, C.-W. Tseng: "UTS: an
// unbalanced tree search benchmark", LCPC 2006. Written from the description, not from the code.
//
// A tree is implied by a few parameters: a node is a 20-byte SHA-1 digest; child i of a node is
// the digest of the node's 20 bytes and i (big-endian); the number of children is drawn from a
// distribution, with the node's last four bytes as the random number. So nobody can know how
// large a subtree is without walking it.
//
// This is the kernel that every compared library runs; only the walk differs.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "sha1.hpp"

namespace uts {

inline constexpr int kMaxChildren = 100;  // of any node but the root of a binomial tree

struct Node {
  Digest state;
  int height;
};

// --- the splittable random number generator -------------------------------------------------

inline Digest rng_init(std::uint32_t seed) { return sha1(Digest{0, 0, 0, 0, seed}); }

inline Digest rng_spawn(const Digest& parent, std::uint32_t i) { return sha1(parent, i); }

inline std::int32_t rng_rand(const Digest& state) {
  return static_cast<std::int32_t>(state[4] & 0x7fffffff);
}

// Uniform in [0, 1).
inline double rng_probability(const Digest& state) { return rng_rand(state) / 2147483648.0; }

// --- trees ----------------------------------------------------------------------------------

enum class Kind { Binomial = 0, Geometric = 1 };  // -t

struct Tree {
  const char* name;
  Kind kind;
  std::uint32_t seed;  // -r
  double root_branch;  // -b: children of a binomial root; mean branching of a geometric tree
  int depth;           // -d: a geometric tree of fixed shape (-a 3) has no children from here on
  double q;            // -q: probability that a binomial node has children
  int m;               // -m: how many it then has

  // What a right count gives.
  std::uint64_t nodes, leaves;
  int max_depth;
};

inline constexpr Tree kT1{"T1", Kind::Geometric, 19, 4, 10, 0, 0, 4130071, 3305118, 10};
inline constexpr Tree kT1L{"T1L", Kind::Geometric, 29, 4, 13, 0, 0, 102181082, 81746377, 13};
inline constexpr Tree kT3L{"T3L", Kind::Binomial, 7,        2000, 0, 0.200014,
                           5,     111345631,      89076904, 17844};
inline constexpr Tree kTrees[] = {kT1, kT1L, kT3L};

inline Node root_of(const Tree& tree) { return {rng_init(tree.seed), 0}; }

inline Node child_of(const Node& parent, int i) {
  return {rng_spawn(parent.state, static_cast<std::uint32_t>(i)), parent.height + 1};
}

// Geometric distribution of mean b, by inversion: floor(log(1-u) / log(1-p)), p = 1/(1+b).
inline int geometric_children(double u, double b) {
  const double p = 1.0 / (1.0 + b);
  return static_cast<int>(std::floor(std::log(1 - u) / std::log(1 - p)));
}

inline int child_count(const Tree& tree, const Node& node) {
  const double u = rng_probability(node.state);
  if (tree.kind == Kind::Binomial) {
    if (node.height == 0) return static_cast<int>(tree.root_branch);
    return u < tree.q ? std::min(tree.m, kMaxChildren) : 0;
  }
  if (node.height >= tree.depth) return 0;  // what mean 0 gives, without the logarithms
  return std::min(geometric_children(u, tree.root_branch), kMaxChildren);
}

// --- what a walk finds ----------------------------------------------------------------------

struct Count {
  std::uint64_t nodes = 0, leaves = 0;
  int max_depth = 0;

  Count& operator+=(const Count& other) {
    nodes += other.nodes;
    leaves += other.leaves;
    max_depth = std::max(max_depth, other.max_depth);
    return *this;
  }
};

inline bool as_expected(const Tree& tree, const Count& count) {
  return count.nodes == tree.nodes && count.leaves == tree.leaves &&
         count.max_depth == tree.max_depth;
}

// Depth-first and recursive: T3L is some 18 000 deep, which fits an 8 MiB stack.
inline Count count_serially(const Tree& tree, const Node& node) {
  const int children = child_count(tree, node);
  Count count{1, children == 0 ? 1u : 0u, node.height};
  for (int i = 0; i < children; ++i) count += count_serially(tree, child_of(node, i));
  return count;
}

}  // namespace uts
