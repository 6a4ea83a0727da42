#include "channel_pingpong/kernel.hpp"
#include "library/qthreads.hpp"

int main(int argc, char** argv) { return bench::channel_pingpong<bench::Qthreads>(argc, argv); }
