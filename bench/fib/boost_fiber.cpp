#include "library/boost_fiber.hpp"
#include "fib/kernel.hpp"

int main(int argc, char** argv) { return bench::fib_ult<bench::BoostFiber>(argc, argv); }
