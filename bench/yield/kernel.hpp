// yield: two ULTs on one worker that yield to each other; ns per yield.
#ifndef WEFT_BENCH_YIELD_KERNEL_HPP
#define WEFT_BENCH_YIELD_KERNEL_HPP

#include "harness.hpp"

namespace bench {

template <class Lib>
struct Yielder {
  uint64_t yields;
  uint64_t done;
  int* turns;  // how often the other one ran in between
  int self;

  static void run(void* arg) {
    auto& me = *static_cast<Yielder*>(arg);
    for (; me.done < me.yields; ++me.done) {
      *const_cast<volatile int*>(me.turns) = me.self;
      Lib::yield();
    }
  }
};

template <class Lib>
void yield_pair(Lib& lib, uint64_t yields) {
  int turns = 0;
  Yielder<Lib> pair[2] = {{yields, 0, &turns, 1}, {yields, 0, &turns, 2}};
  typename Lib::Handle handles[2];
  for (int i = 0; i < 2; ++i) {
    lib.template create<Yielder<Lib>::run>(handles[i], &pair[i]);
  }
  for (auto& handle : handles) {
    lib.join(handle);
  }
  check(pair[0].done == yields && pair[1].done == yields, "number of yields");
}

template <class Lib>
int yield(int argc, char** argv) {
  const Setup setup(argc, argv, {});
  report_best<Lib>(setup, "ns", Mode::kPlain, [&](Lib& lib) {
    return time_per_op(setup, 2, [&](uint64_t n) { yield_pair(lib, n); });
  });
  return 0;
}

}  // namespace bench

#endif  // WEFT_BENCH_YIELD_KERNEL_HPP
