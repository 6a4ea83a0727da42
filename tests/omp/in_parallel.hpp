// in_parallel.hpp: regions of functions.
#pragma once

#include <functional>

#include "region.hpp"

namespace weft::omp {

using MemberCode = std::function<void(Member&)>;
inline int in_parallel(const RegionWish& wish, const MemberCode& code) {
  return parallel(wish, {[](Member& member, const Body& body) { (*static_cast<const MemberCode*>(body.first))(member); },
                         const_cast<MemberCode*>(&code), nullptr});
}
inline int in_parallel(int threads, const MemberCode& code) { return in_parallel(RegionWish{.threads = threads}, code); }

}  // namespace weft::omp
