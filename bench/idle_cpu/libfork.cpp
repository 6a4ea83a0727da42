#include "library/libfork.hpp"
#include "idle_cpu/kernel.hpp"

int main(int argc, char** argv) { return bench::idle_cpu<bench::Libfork>(argc, argv); }
