#include "library/qthreads.hpp"
#include "uts/kernel.hpp"

int main(int argc, char** argv) { return bench::uts_ult<bench::Qthreads>(argc, argv); }
