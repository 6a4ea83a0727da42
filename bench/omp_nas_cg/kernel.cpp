// omp_nas_cg: examples/nas/cg.hpp, conjugate gradients: fifteen regions with some hundred barriers each.
#include "nas/cg.hpp"

#include "omp_nas.hpp"

int main(int argc, char** argv) { return bench::nas_main<nas::cg>(argc, argv); }
