#include "unit/stack_code.hpp"

#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstring>

#include "arch/system_call.hpp"
#include "unit/stack_batch.hpp"
#include "unit/stack_map.hpp"

namespace weft::rt {
namespace {

constinit std::atomic<bool> allowed{false};

// A file that says nothing is from before there was a way to say no.
bool asks(const dl_phdr_info& object) noexcept {
  const auto* const end = object.dlpi_phdr + object.dlpi_phnum;
  const auto* says = std::find_if(object.dlpi_phdr, end, [](const ElfW(Phdr)& header) { return header.p_type == PT_GNU_STACK; });
  return says == end || (says->p_flags & PF_X) != 0;
}

// The kernel's own, which it maps into each process, says nothing.
bool is_kernels(const dl_phdr_info& object) noexcept {
  const unsigned long kernels = getauxval(AT_SYSINFO_EHDR);
  const auto* headers = reinterpret_cast<const char*>(object.dlpi_phdr);
  return kernels != 0 && reinterpret_cast<uintptr_t>(headers) - kernels < kPage;
}

int look_at(dl_phdr_info* object, size_t, void*) noexcept { return asks(*object) && !is_kernels(*object) ? 1 : 0; }

// The lines of /proc/self/maps, in the order of their addresses.
class Maps {
 public:
  Maps() noexcept : fd_(static_cast<int>(system_call(SYS_openat, AT_FDCWD, reinterpret_cast<long>("/proc/self/maps"), O_RDONLY | O_CLOEXEC, 0))) {}
  Maps(const Maps&) = delete;
  Maps& operator=(const Maps&) = delete;
  ~Maps() {
    if (fd_ >= 0) system_call(SYS_close, fd_, 0, 0, 0);
  }

  // Null: there are no more. Of a line that is very long there is the end only.
  const char* next() noexcept {
    for (;;) {
      if (char* end = static_cast<char*>(std::memchr(text_ + from_, '\n', to_ - from_))) {
        *end = '\0';
        const char* line = text_ + from_;
        from_ = static_cast<size_t>(end + 1 - text_);
        return line;
      }
      if (from_ == 0 && to_ == sizeof text_) from_ = to_ / 2;
      to_ -= from_;
      std::memmove(text_, text_ + from_, to_);
      from_ = 0;
      const long got = fd_ >= 0 ? system_call(SYS_read, fd_, reinterpret_cast<long>(text_ + to_), static_cast<long>(sizeof text_ - to_), 0) : 0;
      if (got <= 0) return nullptr;
      to_ += static_cast<size_t>(got);
    }
  }

 private:
  const int fd_;
  size_t from_ = 0, to_ = 0;
  char text_[2048];
};

}  // namespace

bool stack_code_setup() noexcept {
  if (allowed.load(std::memory_order_relaxed) || dl_iterate_phdr(look_at, nullptr) == 0) return false;
  allowed.store(true, std::memory_order_relaxed);
  return true;
}

// "7ffd1f0c8000-7ffd1f0e9000 rwxp 00000000 00:00 0          [stack]"
bool stack_code_is_asked_for() noexcept {
  Maps maps;
  while (const char* line = maps.next()) {
    if (std::strstr(line, "[stack]") == nullptr) continue;
    const char* rights = std::strchr(line, ' ');
    return rights != nullptr && std::strncmp(rights, " rwx", 4) == 0;
  }
  return false;
}

bool stack_code_allow(char* low, char* high) noexcept {
  constexpr int kAll = PROT_READ | PROT_WRITE | PROT_EXEC;
  if (system_call(SYS_mprotect, reinterpret_cast<long>(low), high - low, kAll, 0) != 0) return false;
  allowed.store(true, std::memory_order_relaxed);
  return true;
}

bool stack_code_allow(const Stack& stack) noexcept {
  if (stack.foreign) return false;
  const StackBatch* batch = stack.batch;
  // Where guards are not what pages are protected from, of all at once: the mapping is not split, and pages of the pool cannot be.
  const bool all = batch != nullptr && (batch->canaries || stack_options().guard != GuardKind::kMprotect);
  if (all) return stack_code_allow(batch->base, batch->base + batch->bytes);
  const auto end = reinterpret_cast<uintptr_t>(stack.top) + (stack.part ? 0 : sizeof(Stack));
  return stack_code_allow(stack.low + kPage, reinterpret_cast<char*>(round_to_page(end)));
}

int stack_protection() noexcept {
  return PROT_READ | PROT_WRITE | (allowed.load(std::memory_order_relaxed) ? PROT_EXEC : 0);
}

}  // namespace weft::rt
