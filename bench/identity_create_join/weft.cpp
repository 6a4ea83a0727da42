#include "create_join_ult/kernel.hpp"
#include "library/weft_identity.hpp"

int main(int argc, char** argv) { return bench::create_join_ult<bench::WeftOwn>(argc, argv); }
