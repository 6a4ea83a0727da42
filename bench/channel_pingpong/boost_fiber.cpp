#include "channel_pingpong/kernel.hpp"
#include "library/boost_fiber.hpp"

int main(int argc, char** argv) { return bench::channel_pingpong<bench::BoostFiber>(argc, argv); }
