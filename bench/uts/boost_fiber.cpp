#include "library/boost_fiber.hpp"
#include "uts/kernel.hpp"

int main(int argc, char** argv) { return bench::uts_ult<bench::BoostFiber>(argc, argv); }
