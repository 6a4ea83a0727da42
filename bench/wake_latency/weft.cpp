#include "library/weft.hpp"
#include "wake_latency/kernel.hpp"

int main(int argc, char** argv) { return bench::wake_latency<bench::Weft>(argc, argv); }
