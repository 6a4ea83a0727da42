#include "library/tbb.hpp"
#include "idle_cpu/kernel.hpp"

int main(int argc, char** argv) { return bench::idle_cpu<bench::Tbb>(argc, argv); }
