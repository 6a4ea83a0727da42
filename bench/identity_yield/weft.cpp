#include "yield/kernel.hpp"
#include "library/weft_identity.hpp"

int main(int argc, char** argv) { return bench::yield<bench::WeftOwn>(argc, argv); }
