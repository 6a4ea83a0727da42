#include "library/weft.hpp"
#include "timer_lateness/floors.hpp"

int main(int argc, char** argv) {
  const bench::Setup setup = bench::timer_setup(argc, argv);
  return bench::timer_lateness<bench::Weft, bench::KernelFloors>(setup);
}
