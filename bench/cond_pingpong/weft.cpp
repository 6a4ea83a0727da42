#include "cond_pingpong/kernel.hpp"
#include "library/weft.hpp"

int main(int argc, char** argv) { return bench::cond_pingpong<bench::Weft>(argc, argv); }
