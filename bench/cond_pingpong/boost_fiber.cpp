#include "cond_pingpong/kernel.hpp"
#include "library/boost_fiber.hpp"

int main(int argc, char** argv) { return bench::cond_pingpong<bench::BoostFiber>(argc, argv); }
