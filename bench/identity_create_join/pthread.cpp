#include "create_join_ult/kernel.hpp"
#include "library/pthread.hpp"

int main(int argc, char** argv) { return bench::create_join_ult<bench::Pthread>(argc, argv); }
