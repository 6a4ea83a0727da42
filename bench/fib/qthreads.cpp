#include "library/qthreads.hpp"
#include "fib/kernel.hpp"

int main(int argc, char** argv) { return bench::fib_ult<bench::Qthreads>(argc, argv); }
