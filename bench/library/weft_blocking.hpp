// weft_blocking.hpp: Weft with and without awareness of blocking: who has to wait in the kernel keeps its worker, or not.
#ifndef WEFT_BENCH_LIBRARY_WEFT_BLOCKING_HPP
#define WEFT_BENCH_LIBRARY_WEFT_BLOCKING_HPP

#include <weft/block.h>

#include "library/weft.hpp"

namespace bench {

// The kernel's limits on what is asked for apply: a rung that is not granted is an error, not another rung's figure.
struct WeftAware : Weft {
  static constexpr bool kFillsIn = true;

  void init(int workers, Mode mode, int variant, const char* rung = "auto",
            weft_blocking_mode_t blocking = WEFT_BLOCKING_AUTO) {
    setenv("WEFT_BLOCKING_RUNG", rung, 1);
    Weft::init(workers, mode, variant);
    check(weft_blocking_set_mode(blocking) == WEFT_OK, "blocking is not noticed on this system");
    weft_blocking_info_t info;
    check(weft_blocking_info(&info) == WEFT_OK, "weft_blocking_info");
    check(std::strcmp(rung, "auto") == 0 || std::strcmp(rung, info.rung) == 0, "this rung is not granted here");
    note = std::string("rung ") + info.rung;
  }

  std::string note;
};

struct WeftUnaware : Weft {
  static constexpr bool kFillsIn = false;

  void init(int workers, Mode mode, int variant) {
    Weft::init(workers, mode, variant);
    check(weft_blocking_set_mode(WEFT_BLOCKING_OFF) == WEFT_OK, "weft_blocking_set_mode");
  }

  std::string note = "blocking off";
};

}  // namespace bench

#endif  // WEFT_BENCH_LIBRARY_WEFT_BLOCKING_HPP
