#include "affinity_list.hpp"

#include <charconv>

namespace weft::abt {
namespace {

constexpr size_t kMost = 1 << 16;  // CPUs in all of a list

class Parser {
 public:
  explicit Parser(std::string_view text) : rest_(text) {}

  bool list(CpuSets& sets) {
    do {
      if (!entry(sets)) return false;
    } while (take(','));
    return rest_.empty();
  }

 private:
  void skip_blanks() {
    while (!rest_.empty() && (rest_[0] == ' ' || rest_[0] == '\t')) rest_.remove_prefix(1);
  }
  bool take(char c) {
    skip_blanks();
    if (rest_.empty() || rest_[0] != c) return false;
    rest_.remove_prefix(1);
    skip_blanks();
    return true;
  }
  bool number(int& value) {
    skip_blanks();
    if (!rest_.empty() && rest_[0] == '+') rest_.remove_prefix(1);
    const auto [end, error] = std::from_chars(rest_.data(), rest_.data() + rest_.size(), value);
    if (error != std::errc() || value > kLargest || value < -kLargest) return false;
    rest_.remove_prefix(static_cast<size_t>(end - rest_.data()));
    skip_blanks();
    return true;
  }
  // [ ":" times [ ":" stride ] ]
  bool repetition(int& times, int& stride) {
    times = 1;
    stride = 1;
    if (!take(':')) return true;
    if (!number(times) || times < 1) return false;
    return !take(':') || number(stride);
  }
  bool room(size_t more) {
    count_ += more;
    return count_ <= kMost;
  }
  bool range(std::vector<int>& cpus) {
    int first;
    int times;
    int stride;
    if (!number(first) || !repetition(times, stride) || !room(static_cast<size_t>(times))) return false;
    for (int i = 0; i < times; ++i) cpus.push_back(first + i * stride);
    return true;
  }
  bool some_cpus(std::vector<int>& cpus) {
    if (!take('{')) {
      int id;
      if (!number(id) || !room(1)) return false;
      cpus.push_back(id);
      return true;
    }
    do {
      if (!range(cpus)) return false;
    } while (take(','));
    return take('}');
  }
  bool entry(CpuSets& sets) {
    std::vector<int> cpus;
    int times;
    int stride;
    if (!some_cpus(cpus) || !repetition(times, stride)) return false;
    if (!room(cpus.size() * static_cast<size_t>(times - 1))) return false;
    for (int i = 0; i < times; ++i) {
      sets.push_back(cpus);
      for (int& cpu : cpus) cpu += stride;
    }
    return true;
  }

  static constexpr int kLargest = 1 << 14;  // so that no sum of them is too large for an int
  std::string_view rest_;
  size_t count_ = 0;
};

}  // namespace

CpuSets parse_affinity(std::string_view text) {
  CpuSets sets;
  if (!Parser(text).list(sets)) sets.clear();
  return sets;
}

}  // namespace weft::abt
