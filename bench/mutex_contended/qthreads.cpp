#include "library/qthreads.hpp"
#include "mutex_contended/kernel.hpp"

int main(int argc, char** argv) { return bench::mutex_contended<bench::Qthreads>(argc, argv); }
