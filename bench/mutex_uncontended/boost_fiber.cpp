#include "library/boost_fiber.hpp"
#include "mutex_uncontended/kernel.hpp"

int main(int argc, char** argv) { return bench::mutex_uncontended<bench::BoostFiber>(argc, argv); }
