// nas_cg, nas_ep, nas_ft, nas_mg: one of the NAS kernels, NAS_KERNEL, as a plain OpenMP program:
//
//   nas_cg [S|W|A]               with the compiler's own runtime
//   weft run -- nas_cg [S|W|A]   with Weft
//
// S takes an instant, W a second or so, A more. Exit status: 0: verified; 1: the result is not the published one; 2: usage.
#include <cstring>

#define NAS_TEXT(text) NAS_QUOTE(text)
#define NAS_QUOTE(text) #text
#include NAS_TEXT(NAS_KERNEL.hpp)

namespace {

const char kKernel[] = NAS_TEXT(NAS_KERNEL);

bool read_class(const char* text, nas::Class& size) {
  static const char kClasses[] = "SWA";
  const char* const found = text[0] != '\0' && text[1] == '\0' ? std::strchr(kClasses, text[0]) : nullptr;
  if (found == nullptr) return false;
  size = static_cast<nas::Class>(found - kClasses);
  return true;
}

}  // namespace

int main(int argc, char** argv) {
  const char* const letter = argc > 1 ? argv[1] : "S";
  nas::Class size{};
  if (argc > 2 || !read_class(letter, size)) {
    std::fprintf(stderr,
                 "nas_%s: '%s' is not what it takes. Usage: nas_%s [S|W|A]\nThe letter is the size of the problem: S, which is small, "
                 "if none is given. OMP_NUM_THREADS says how many threads.\n",
                 kKernel, argc > 2 ? argv[2] : letter, kKernel);
    return 2;
  }
  const nas::Outcome outcome = nas::NAS_KERNEL(size);
  std::printf("%s, class %s, %d threads: %.4f s, %s %.13g: ", kKernel, letter, omp_get_max_threads(), outcome.spent.seconds,
              outcome.what, outcome.is);
  if (!outcome.verified()) {
    std::printf("WRONG: it should be %.13g; error %.1e, of which %.0e is allowed\n", outcome.should_be, outcome.error, outcome.allowed);
    return 1;
  }
  std::printf("verified\n");
  return 0;
}
