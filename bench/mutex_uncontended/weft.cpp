#include "library/weft.hpp"
#include "mutex_uncontended/kernel.hpp"

int main(int argc, char** argv) { return bench::mutex_uncontended<bench::Weft>(argc, argv); }
