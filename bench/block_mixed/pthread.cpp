#include "block_mixed/kernel.hpp"
#include "library/pthread.hpp"

int main(int argc, char** argv) { return bench::block_mixed<bench::Pthread>(argc, argv); }
