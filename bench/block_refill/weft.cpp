#include "block_refill/kernel.hpp"
#include "library/weft_blocking.hpp"

int main(int argc, char** argv) {
  const bench::Setup setup(argc, argv, {{"rung", "auto"}});
  bench::WeftAware lib;
  return bench::block_refill(setup, lib, [&] {
    lib.init(1, bench::Mode::kPlain, 0, setup.text("rung").c_str());
    return lib.note;
  });
}
