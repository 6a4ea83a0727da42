#include "channel_pingpong/kernel.hpp"
#include "library/weft.hpp"

int main(int argc, char** argv) { return bench::channel_pingpong<bench::Weft>(argc, argv); }
