#include "block_mixed/kernel.hpp"
#include "library/weft_blocking.hpp"

int main(int argc, char** argv) { return bench::block_mixed<bench::WeftAware>(argc, argv); }
