#include "barrier/kernel.hpp"
#include "library/boost_fiber.hpp"

int main(int argc, char** argv) { return bench::barrier<bench::BoostFiber>(argc, argv); }
