#include "cond_pingpong/kernel.hpp"
#include "library/argobots.hpp"

int main(int argc, char** argv) { return bench::cond_pingpong<bench::Argobots>(argc, argv); }
