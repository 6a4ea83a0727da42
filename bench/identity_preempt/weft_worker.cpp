#include "library/weft_identity.hpp"
#include "preempt_cost/kernel.hpp"

int main(int argc, char** argv) { return bench::preempt_cost<bench::WeftWorker>(argc, argv); }
