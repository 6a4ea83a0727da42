// handlers_begun.hpp: how many handlers of the program's have begun in a thread, or a ULT that has an identity of its own: with one it has its own
// thread-local variables. Those that are counted: program_signals.hpp.
#pragma once

#include <atomic>
#include <cstdint>

extern "C" __attribute__((tls_model("initial-exec"), visibility("default"))) constinit thread_local std::atomic<uint32_t> weft_handlers_begun;
