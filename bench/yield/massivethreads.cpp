#include "library/massivethreads.hpp"
#include "yield/kernel.hpp"

int main(int argc, char** argv) { return bench::yield<bench::MassiveThreads>(argc, argv); }
