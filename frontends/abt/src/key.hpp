// key.hpp: values of work units.
#pragma once

namespace weft::abt {

struct Extra;

// Calls the destructors of all values that are not null, also of keys that have been freed.
void destroy_values(Extra* extra) noexcept;

}  // namespace weft::abt
