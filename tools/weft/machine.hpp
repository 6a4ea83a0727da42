// machine.hpp: what `weft info` knows of the machine.
#pragma once

#include "report.hpp"

namespace weft::command {

Report describe_machine();  // the processor, CPUs, cores, sockets, memory nodes, quota
Report describe_kernel();   // what was looked for, whether it is there, and what for

}  // namespace weft::command
