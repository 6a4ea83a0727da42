#include "library/argobots.hpp"
#include "yield/kernel.hpp"

int main(int argc, char** argv) { return bench::yield<bench::Argobots>(argc, argv); }
