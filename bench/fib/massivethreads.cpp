#include "library/massivethreads.hpp"
#include "fib/kernel.hpp"

int main(int argc, char** argv) { return bench::fib_ult<bench::MassiveThreads>(argc, argv); }
