#include "library/tbb.hpp"
#include "init_finalize/kernel.hpp"

int main(int argc, char** argv) { return bench::init_finalize<bench::Tbb>(argc, argv); }
