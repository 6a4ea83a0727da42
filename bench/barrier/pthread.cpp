#include "barrier/kernel.hpp"
#include "library/pthread.hpp"

int main(int argc, char** argv) { return bench::barrier<bench::Pthread>(argc, argv); }
