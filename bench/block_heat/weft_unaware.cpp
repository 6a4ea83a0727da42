#include "block_heat/kernel.hpp"
#include "library/weft_blocking.hpp"

int main(int argc, char** argv) { return bench::block_heat<bench::WeftUnaware>(argc, argv); }
