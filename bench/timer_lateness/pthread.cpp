#include "library/pthread.hpp"
#include "timer_lateness/kernel.hpp"

int main(int argc, char** argv) {
  const bench::Setup setup = bench::timer_setup(argc, argv);
  return bench::timer_lateness<bench::Pthread>(setup);
}
