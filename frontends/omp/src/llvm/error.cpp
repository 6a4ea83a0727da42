// error.cpp: the error directive.
#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "llvm/ident.hpp"
#include "tool.hpp"

namespace weft::omp::llvm {
namespace {

constexpr int kFatal = 2;

// "file:line:column" of ";file;function;line;column;;".
void print_place(const Ident* ident) {
  if (ident == nullptr || ident->source == nullptr) return;
  std::string_view rest = ident->source;
  std::string_view parts[5];  // the first one is empty
  for (std::string_view& part : parts) {
    const size_t end = rest.find(';');
    part = rest.substr(0, end);
    rest = end == std::string_view::npos ? std::string_view{} : rest.substr(end + 1);
  }
  std::fprintf(stderr, " at %.*s:%.*s:%.*s", static_cast<int>(parts[1].size()), parts[1].data(),
               static_cast<int>(parts[3].size()), parts[3].data(), static_cast<int>(parts[4].size()), parts[4].data());
}

}  // namespace
}  // namespace weft::omp::llvm

using namespace weft::omp::llvm;

WEFT_OMP_API void __kmpc_error(Ident* ident, int severity, const char* message) {
  const weft::omp::tool::Entry entry(WEFT_OMP_CALLER);
  const bool fatal = severity == kFatal;
  if (weft::omp::tool::there()) weft::omp::tool::error(fatal, message);
  std::fprintf(stderr, "OMP: %s: Encountered user-directed %s", fatal ? "Error" : "Warning", fatal ? "error" : "warning");
  print_place(ident);
  std::fprintf(stderr, "%s%s\n", message != nullptr ? ": " : "", message != nullptr ? message : "");
  if (fatal) std::exit(EXIT_FAILURE);
}
