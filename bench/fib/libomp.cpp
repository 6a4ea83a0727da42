#include "fib/openmp.hpp"

int main(int argc, char** argv) { return bench::fib_openmp(argc, argv); }
