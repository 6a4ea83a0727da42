// libfork.hpp: libfork as the benchmarks see it. Its tasks are stackless coroutines, which cannot
// block. Both its pools are tried: the one that sleeps and the one that spins.
#ifndef WEFT_BENCH_LIBRARY_LIBFORK_HPP
#define WEFT_BENCH_LIBRARY_LIBFORK_HPP

#include <libfork.hpp>
#include <optional>

#include "harness.hpp"

namespace bench {

struct Libfork {
  static constexpr const char* kVariants[] = {"lazy_pool; tasks cannot block",
                                              "busy_pool; tasks cannot block"};

  void init(int workers, Mode, int variant) {
    const auto n = static_cast<size_t>(workers);
    if (variant == 0) {
      lazy_.emplace(n);
    } else {
      busy_.emplace(n);
    }
  }
  void finalize() {
    lazy_.reset();
    busy_.reset();
  }

  template <class Function, class... Args>
  auto run(Function function, Args... args) {
    return lazy_ ? lf::sync_wait(*lazy_, function, args...)
                 : lf::sync_wait(*busy_, function, args...);
  }
  void idle(double seconds) { usleep(static_cast<useconds_t>(seconds * 1e6)); }

 private:
  std::optional<lf::lazy_pool> lazy_;
  std::optional<lf::busy_pool> busy_;
};

}  // namespace bench

#endif  // WEFT_BENCH_LIBRARY_LIBFORK_HPP
