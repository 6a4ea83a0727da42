#include "barrier/kernel.hpp"
#include "library/argobots.hpp"

int main(int argc, char** argv) { return bench::barrier<bench::Argobots>(argc, argv); }
