#include "identity_memory/kernel.hpp"

#include <vector>

#include "library/weft_identity.hpp"

namespace {

// ULTs that have not begun have a control block, and no stack yet.
struct Ults {
  bench::WeftOwn lib;
  std::vector<weft_unit_t> all;

  Ults() { lib.init(1, bench::Mode::kPlain, 0); }
  ~Ults() {
    for (weft_unit_t& each : all) lib.join(each);
    lib.finalize();
  }
  void operator()(long n) {
    all.reserve(all.size() + static_cast<size_t>(n));
    for (; n > 0; --n) lib.create<nothing>(all.emplace_back(), nullptr);
  }
  static void nothing(void*) {}
};

}  // namespace

int main(int argc, char** argv) { return bench::identity_memory<Ults>(argc, argv); }
