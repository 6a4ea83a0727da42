#include "library/argobots.hpp"
#include "mutex_uncontended/kernel.hpp"

int main(int argc, char** argv) { return bench::mutex_uncontended<bench::Argobots>(argc, argv); }
