#include "library/pthread.hpp"
#include "rwlock_read/kernel.hpp"

int main(int argc, char** argv) { return bench::rwlock_read<bench::Pthread>(argc, argv); }
