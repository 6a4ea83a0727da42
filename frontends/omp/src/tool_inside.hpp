// tool_inside.hpp: what the files of tool.hpp share.
#pragma once

#include "tool.hpp"

namespace weft::omp::tool {

inline constexpr int kEvents = ompt_callback_error + 1;
inline constexpr int kMutexImpl = 1;  // of all mutexes here

inline bool is_there() { return (wanted.bits.load(std::memory_order_relaxed) & kThere) != 0; }

ompt_set_result_t set(ompt_callbacks_t event, ompt_callback_t callback);
ompt_callback_t callback_of(ompt_callbacks_t event);  // null: none
ompt_interface_fn_t look_up(const char* name);

// ompt_task_flag_t of a task that runs, or is about to.
int flags_of(const Member& member, const Task& task);

// Calls it, if the tool wants it.
template <class Callback, class... Arguments>
void tell(ompt_callbacks_t event, Arguments... arguments) {
  if (const ompt_callback_t callback = callback_of(event)) reinterpret_cast<Callback>(callback)(arguments...);
}

}  // namespace weft::omp::tool
