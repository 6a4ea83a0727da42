// numa.hpp: which memory is near.
//
// The kernel takes a page from the node of the CPU that touches it first. So memory of one worker should be
// touched by that worker; what somebody else has to write before the worker runs is asked for by PreferNode.
// Rejected: mbind() of each piece (a mapping of its own for each); libnuma (two system calls are all we need).
#pragma once

namespace weft::rt {

// Where the calling thread runs just now, as a place in an array of kNodes; on machines with more nodes some
// share a place. 20 ns, no system call. Async-signal-safe.
inline constexpr unsigned kNodes = 64;
unsigned current_node() noexcept;

// While it lives, pages that the calling thread touches first come from the given node, where that has
// memory. -1: as usual. A policy that the user has set (numactl) is left alone, and where the kernel refuses (some
// containers) memory comes from where the thread runs. Threads started meanwhile would inherit it: start none.
class PreferNode {
 public:
  explicit PreferNode(int node) noexcept;
  ~PreferNode();
  PreferNode(const PreferNode&) = delete;
  PreferNode& operator=(const PreferNode&) = delete;

 private:
  bool set_ = false;
};

}  // namespace weft::rt
