#include "library/massivethreads.hpp"
#include "uts/kernel.hpp"

int main(int argc, char** argv) { return bench::uts_ult<bench::MassiveThreads>(argc, argv); }
