// tool.hpp: what a tool is told of.
#pragma once

#include <atomic>

#include "handles.hpp"

namespace weft::abt {

extern std::atomic<bool> tool_attached;  // somebody has registered since ABT_init()

// Whether units that are made now are watched, and so are not run early.
inline bool tool_active() noexcept { return tool_attached.load(std::memory_order_relaxed); }

// Of watched units. CREATE, REVIVE, JOIN, FREE, by the caller.
void tell_tool(ABT_thread unit, uint64_t event) noexcept;
// Nobody is told of anything any more.
void detach_tool() noexcept;

}  // namespace weft::abt
