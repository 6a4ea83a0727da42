#include "library/argobots.hpp"
#include "rwlock_read/kernel.hpp"

int main(int argc, char** argv) { return bench::rwlock_read<bench::Argobots>(argc, argv); }
