#include "library/boost_fiber.hpp"
#include "init_finalize/kernel.hpp"

int main(int argc, char** argv) { return bench::init_finalize<bench::BoostFiber>(argc, argv); }
