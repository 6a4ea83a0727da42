// What the kernel takes to run another thread of its own on that core.
#include "block_refill/kernel.hpp"
#include "library/pthread.hpp"

int main(int argc, char** argv) {
  const bench::Setup setup(argc, argv, {{"rung", "auto"}});
  bench::Pthread lib;
  return bench::block_refill(setup, lib, [] { return std::string("two threads on one core"); });
}
