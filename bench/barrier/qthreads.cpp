#include "barrier/kernel.hpp"
#include "library/qthreads.hpp"

int main(int argc, char** argv) { return bench::barrier<bench::Qthreads>(argc, argv); }
