#include "library/weft.hpp"
#include "preempt_cost/kernel.hpp"

int main(int argc, char** argv) { return bench::preempt_cost<bench::Weft>(argc, argv); }
