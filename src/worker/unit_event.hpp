// unit_event.hpp: what a watcher is told of: see watch.hpp.
#pragma once

namespace weft::rt {

enum class UnitEvent { kRun, kYield, kSuspend, kResume, kFinish, kCancel };

}  // namespace weft::rt
