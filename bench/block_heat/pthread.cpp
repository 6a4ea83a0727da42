#include "block_heat/kernel.hpp"
#include "library/pthread.hpp"

int main(int argc, char** argv) { return bench::block_heat<bench::Pthread>(argc, argv); }
