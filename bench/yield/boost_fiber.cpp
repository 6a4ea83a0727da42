#include "library/boost_fiber.hpp"
#include "yield/kernel.hpp"

int main(int argc, char** argv) { return bench::yield<bench::BoostFiber>(argc, argv); }
