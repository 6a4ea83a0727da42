// omp_nas_mg: examples/nas/mg.hpp, multigrid: some hundred regions, from large ones to tiny ones.
#include "nas/mg.hpp"

#include "omp_nas.hpp"

int main(int argc, char** argv) { return bench::nas_main<nas::mg>(argc, argv); }
