#include "library/pthread.hpp"
#include "yield/kernel.hpp"

int main(int argc, char** argv) { return bench::yield<bench::Pthread>(argc, argv); }
