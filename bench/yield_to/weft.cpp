#include "library/weft.hpp"
#include "yield_to/kernel.hpp"

int main(int argc, char** argv) { return bench::yield_to<bench::Weft>(argc, argv); }
