#include "create_join_tasklet/openmp.hpp"

int main(int argc, char** argv) { return bench::create_join_tasklet_openmp(argc, argv); }
