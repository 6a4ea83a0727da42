#include "arch/thread_pointer.hpp"

#include <sys/auxv.h>

namespace weft::rt {
namespace {

constexpr unsigned long kFsGsBase = 1ul << 1;  // HWCAP2_FSGSBASE, which older headers lack

}  // namespace

constinit bool thread_pointer_by_instruction = false;

void thread_pointer_setup() noexcept { thread_pointer_by_instruction = (getauxval(AT_HWCAP2) & kFsGsBase) != 0; }

}  // namespace weft::rt
