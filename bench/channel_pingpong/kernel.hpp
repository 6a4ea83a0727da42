// channel_pingpong: a value of 8 bytes goes to another ULT through one channel and comes back through
// a second; ns per round trip. Both channels have room for `capacity` elements.
#ifndef WEFT_BENCH_CHANNEL_PINGPONG_KERNEL_HPP
#define WEFT_BENCH_CHANNEL_PINGPONG_KERNEL_HPP

#include "team.hpp"

namespace bench {

template <class Lib>
void exchange(Lib& lib, Mode mode, const Setup& setup, uint64_t rounds) {
  const auto capacity = static_cast<size_t>(setup.number("capacity"));
  typename Lib::Channel there(capacity);
  typename Lib::Channel back(capacity);
  run_team(lib, mode, setup, 2, [&](int self) {
    for (uint64_t i = 0; i < rounds; ++i) {
      if (self == 0) {
        there.send(i);
        check(back.receive() == i + 1, "what came back");
      } else {
        back.send(there.receive() + 1);
      }
    }
  });
}

template <class Lib>
int channel_pingpong(int argc, char** argv) {
  const Setup setup(argc, argv, {{"sides", "together"}, {"capacity", "1"}});
  const Mode mode = mode_of(setup, setup.text("sides"));
  report_best<Lib>(setup, "ns", mode, [&](Lib& lib) {
    return time_per_op(setup, 1, [&](uint64_t n) { exchange(lib, mode, setup, n); });
  });
  return 0;
}

}  // namespace bench

#endif  // WEFT_BENCH_CHANNEL_PINGPONG_KERNEL_HPP
