#include "library/pthread.hpp"
#include "preempt_cost/kernel.hpp"

int main(int argc, char** argv) { return bench::preempt_cost<bench::Pthread>(argc, argv); }
