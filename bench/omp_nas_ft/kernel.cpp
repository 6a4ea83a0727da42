// omp_nas_ft: examples/nas/ft.hpp, three-dimensional Fourier transforms: some thirty large regions.
#include "nas/ft.hpp"

#include "omp_nas.hpp"

int main(int argc, char** argv) { return bench::nas_main<nas::ft>(argc, argv); }
