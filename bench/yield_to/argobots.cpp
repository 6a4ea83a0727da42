#include "library/argobots.hpp"
#include "yield_to/kernel.hpp"

int main(int argc, char** argv) { return bench::yield_to<bench::Argobots>(argc, argv); }
