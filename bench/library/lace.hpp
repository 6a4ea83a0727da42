// lace.hpp: Lace as the benchmarks see it. Its tasks cannot block. Its workers are threads of its
// own; the caller waits for them.
#ifndef WEFT_BENCH_LIBRARY_LACE_HPP
#define WEFT_BENCH_LIBRARY_LACE_HPP

#include <lace.h>

#include "harness.hpp"

namespace bench {

struct Lace {
  static constexpr const char* kVariants[] = {"tasks cannot block"};

  void init(int workers, Mode, int) {
    lace_set_stacksize(thread_stack());
    lace_start(static_cast<unsigned>(workers), 0);
  }
  void finalize() { lace_stop(); }
  void idle(double seconds) { usleep(static_cast<useconds_t>(seconds * 1e6)); }
};

}  // namespace bench

#endif  // WEFT_BENCH_LIBRARY_LACE_HPP
