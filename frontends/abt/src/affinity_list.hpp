// affinity_list.hpp: what ABT_SET_AFFINITY may say: which CPUs each ES may use, by its rank.
//
//   list      entry { "," entry }                 an ES each; where there are more ESs it begins anew
//   entry     cpus [ ":" times [ ":" stride ] ]   the same so many times, each `stride` (1) higher than the one before
//   cpus      id | "{" range { "," range } "}"
//   range     id [ ":" times [ ":" stride ] ]     so many CPUs
#pragma once

#include <string_view>
#include <vector>

namespace weft::abt {

using CpuSets = std::vector<std::vector<int>>;

// Empty: it is no such list, or one that is too long. May throw std::bad_alloc.
CpuSets parse_affinity(std::string_view text);

}  // namespace weft::abt
