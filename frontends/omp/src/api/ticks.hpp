// ticks.hpp: whether only ticks of preemption have ended a call with EINTR, so that it is to be made again.
#pragma once

#include <cstdint>

#include "front/front.hpp"

namespace weft::omp {

class Ticks {
 public:
  // Whether the caller is of those that ticks interrupt.
  explicit operator bool() const noexcept { return mark_ != 0; }
  // Since the last time. A signal that has been brought meanwhile is the program's, though a tick may have come, too.
  bool alone() noexcept {
    const uint64_t now = front::tick_mark();
    const bool ticked = now != mark_;
    mark_ = now;
    return ticked && front::signals_brought() == brought_;
  }

 private:
  uint64_t mark_ = front::tick_mark();
  uint32_t brought_ = mark_ != 0 ? front::signals_brought() : 0;
};

}  // namespace weft::omp
