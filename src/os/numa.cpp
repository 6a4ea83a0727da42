#include "os/numa.hpp"

#include <linux/mempolicy.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "os/get_cpu.hpp"

namespace weft::rt {
namespace {

constexpr int kMostNodes = 1024;  // as many as the kernel can be built for on x86-64
constexpr int kBits = 8 * sizeof(unsigned long);

}  // namespace

unsigned current_node() noexcept {
  unsigned cpu = 0;
  unsigned node = 0;
  return get_cpu(cpu, node) ? node % kNodes : 0;
}

PreferNode::PreferNode(int node) noexcept {
  if (node < 0 || node >= kMostNodes) return;
  int mode = 0;
  if (syscall(SYS_get_mempolicy, &mode, nullptr, 0, nullptr, 0) != 0 || mode != MPOL_DEFAULT) return;
  unsigned long nodes[kMostNodes / kBits] = {};
  nodes[node / kBits] = 1ul << (node % kBits);
  // The kernel reads one bit less than it is told.
  set_ = syscall(SYS_set_mempolicy, MPOL_PREFERRED, nodes, kMostNodes + 1) == 0;
}

PreferNode::~PreferNode() {
  if (set_) syscall(SYS_set_mempolicy, MPOL_DEFAULT, nullptr, 0);
}

}  // namespace weft::rt
