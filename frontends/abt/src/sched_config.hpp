#pragma once

#include "abt.h"

namespace weft::abt {

// Whether a scheduler made with it is automatic; `otherwise` where it does not say, or is null.
bool config_automatic(ABT_sched_config config, bool otherwise) noexcept;

}  // namespace weft::abt
