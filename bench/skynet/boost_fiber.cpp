#include "library/boost_fiber.hpp"
#include "skynet/kernel.hpp"

int main(int argc, char** argv) { return bench::skynet_ult<bench::BoostFiber>(argc, argv); }
