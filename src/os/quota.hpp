// quota.hpp: how much CPU time the cgroups of this process grant it.
//
// A container with "2 CPUs" on a machine of 64 sees 64 in its affinity mask; the limit is a quota
// per period. More workers than the quota feeds are throttled all at once, in the middle of
// whatever they hold, so the number of workers follows the quota.
#pragma once

#include <string>

namespace weft::rt {

// The smallest quota among our cgroup and its ancestors, v1 and v2, as a number of CPUs (1.5: one
// and a half); infinity where there is none or it cannot be read. Ancestors above the mount point
// are invisible to us. `root` is put before each path that is opened, for tests. Any thread; reads
// some ten small files.
double cpu_quota(const std::string& root = "") noexcept;

}  // namespace weft::rt
