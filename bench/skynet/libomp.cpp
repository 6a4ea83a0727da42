#include "skynet/openmp.hpp"

int main(int argc, char** argv) { return bench::skynet_openmp(argc, argv); }
