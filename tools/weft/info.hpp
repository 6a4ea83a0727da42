// info.hpp: `weft info`.
#pragma once

namespace weft::command {

// Returns the exit status.
int info(bool json);

}  // namespace weft::command
