// omp_nas_ep: examples/nas/ep.hpp, random pairs: one region.
#include "nas/ep.hpp"

#include "omp_nas.hpp"

int main(int argc, char** argv) { return bench::nas_main<nas::ep>(argc, argv); }
