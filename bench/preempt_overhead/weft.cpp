#include "library/weft.hpp"
#include "preempt_overhead/kernel.hpp"

int main(int argc, char** argv) { return bench::preempt_overhead<bench::Weft>(argc, argv); }
