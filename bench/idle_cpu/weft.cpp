#include "library/weft.hpp"
#include "idle_cpu/kernel.hpp"

int main(int argc, char** argv) { return bench::idle_cpu<bench::Weft>(argc, argv); }
