#include "idle_cpu/kernel.hpp"
#include "library/openmp.hpp"

int main(int argc, char** argv) { return bench::idle_cpu<bench::OpenMp>(argc, argv); }
