#include "uts/openmp.hpp"

int main(int argc, char** argv) { return bench::uts_openmp(argc, argv); }
