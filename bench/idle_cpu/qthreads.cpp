#include "library/qthreads.hpp"
#include "idle_cpu/kernel.hpp"

int main(int argc, char** argv) { return bench::idle_cpu<bench::Qthreads>(argc, argv); }
