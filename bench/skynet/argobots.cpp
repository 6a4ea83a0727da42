#include "library/argobots.hpp"
#include "skynet/kernel.hpp"

int main(int argc, char** argv) { return bench::skynet_ult<bench::Argobots>(argc, argv); }
