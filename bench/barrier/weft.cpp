#include "barrier/kernel.hpp"
#include "library/weft.hpp"

int main(int argc, char** argv) { return bench::barrier<bench::Weft>(argc, argv); }
