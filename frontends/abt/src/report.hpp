// report.hpp: what Weft writes to a file descriptor, for somebody who has a FILE.
#pragma once

#include <cstdio>

#include "handle.hpp"
#include "weft/weft.h"

namespace weft::abt {

// Calls write(fd), which returns a code of Weft's, and copies what it has written to `to`. Waits while another report is
// being written. ABT_SUCCESS, SYS, UNINITIALIZED.
int copy_report(std::FILE* to, int (*write)(int fd, void* arg), void* arg) noexcept;

// What was asked for by ABT_info_trigger_print_all_thread_stacks() and has not come before ABT_finalize().
void forget_stack_dump() noexcept;

}  // namespace weft::abt
