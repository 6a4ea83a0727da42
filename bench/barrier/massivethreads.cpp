#include "barrier/kernel.hpp"
#include "library/massivethreads.hpp"

int main(int argc, char** argv) { return bench::barrier<bench::MassiveThreads>(argc, argv); }
