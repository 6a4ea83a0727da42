#include "library/weft.hpp"
#include "memory_per_ult/kernel.hpp"

int main(int argc, char** argv) { return bench::memory_per_ult<bench::Weft>(argc, argv); }
