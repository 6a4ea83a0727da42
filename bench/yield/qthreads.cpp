#include "library/qthreads.hpp"
#include "yield/kernel.hpp"

int main(int argc, char** argv) { return bench::yield<bench::Qthreads>(argc, argv); }
