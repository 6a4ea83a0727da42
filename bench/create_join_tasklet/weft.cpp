#include "library/weft.hpp"
#include "create_join_tasklet/kernel.hpp"

int main(int argc, char** argv) { return bench::create_join_tasklet<bench::Weft>(argc, argv); }
