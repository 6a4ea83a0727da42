#include "cond_pingpong/kernel.hpp"
#include "library/massivethreads.hpp"

int main(int argc, char** argv) { return bench::cond_pingpong<bench::MassiveThreads>(argc, argv); }
