// yield_to: two ULTs on one worker that each name the other one as the next; ns per yield_to.
#ifndef WEFT_BENCH_YIELD_TO_KERNEL_HPP
#define WEFT_BENCH_YIELD_TO_KERNEL_HPP

#include "harness.hpp"

namespace bench {

template <class Lib>
struct Partner {
  typename Lib::Handle* other;
  uint64_t yields;
  uint64_t done;

  static void run(void* arg) {
    auto& me = *static_cast<Partner*>(arg);
    for (; me.done < me.yields; ++me.done) {
      Lib::yield_to(*me.other);
    }
  }
};

template <class Lib>
void yield_to_pair(Lib& lib, uint64_t yields) {
  typename Lib::Handle handles[2]{};
  // The first one starts; its last yield_to lets the second one end first.
  Partner<Lib> pair[2] = {{&handles[1], yields, 0}, {&handles[0], yields, 0}};
  lib.template create<Partner<Lib>::run>(handles[0], &pair[0]);
  lib.template create<Partner<Lib>::run>(handles[1], &pair[1]);
  Lib::yield();
  lib.join(handles[1]);
  lib.join(handles[0]);
  check(pair[0].done == yields && pair[1].done == yields, "number of yields");
}

template <class Lib>
int yield_to(int argc, char** argv) {
  const Setup setup(argc, argv, {});
  report_best<Lib>(setup, "ns", Mode::kPlain, [&](Lib& lib) {
    return time_per_op(setup, 2, [&](uint64_t n) { yield_to_pair(lib, n); });
  });
  return 0;
}

}  // namespace bench

#endif  // WEFT_BENCH_YIELD_TO_KERNEL_HPP
