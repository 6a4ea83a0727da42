// part.hpp: part of the workers, to which a root's threads keep for a while (crowd.hpp).
#pragma once

#include <cstdint>

namespace weft::omp {

struct Part {
  uint16_t first = 0;
  uint16_t count = 0;  // 0: none, they run as ever
  uint16_t root = 0;   // at which of them member 0 is; of a kernel thread, which is at none: the last one

  bool any() const noexcept { return count != 0; }
  bool operator==(const Part&) const = default;
};

struct Member;

// Number of a member's worker. Precondition: any().
inline unsigned worker_in_part(const Part& part, int num) noexcept {
  return part.first + (part.root + static_cast<unsigned>(num)) % part.count;
}

// The member goes there. Context: its thread, in no task but the implicit one.
void keep_in_part(Member& member);

}  // namespace weft::omp
