#include "library/weft.hpp"
#include "yield/kernel.hpp"

int main(int argc, char** argv) { return bench::yield<bench::Weft>(argc, argv); }
