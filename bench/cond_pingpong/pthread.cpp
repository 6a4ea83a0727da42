#include "cond_pingpong/kernel.hpp"
#include "library/pthread.hpp"

int main(int argc, char** argv) { return bench::cond_pingpong<bench::Pthread>(argc, argv); }
