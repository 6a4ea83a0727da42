#include "os/thread_locals.hpp"

#include <link.h>

namespace weft::rt {
namespace {

int add(dl_phdr_info* object, size_t, void* sum) noexcept {
  for (const auto* header = object->dlpi_phdr; header != object->dlpi_phdr + object->dlpi_phnum; ++header) {
    if (header->p_type == PT_TLS) *static_cast<size_t*>(sum) += header->p_memsz + header->p_align;
  }
  return 0;
}

}  // namespace

size_t thread_locals() noexcept {
  static const size_t bytes = [] {
    size_t sum = 0;
    dl_iterate_phdr(add, &sum);
    return sum;
  }();
  return bytes;
}

}  // namespace weft::rt
