// scan.hpp: reads a text from left to right, blanks anywhere.
#pragma once

#include <cctype>
#include <charconv>
#include <climits>
#include <string>
#include <string_view>

namespace weft::omp {

class Scan {
 public:
  explicit Scan(std::string_view text) : x_rest(text) {}

  // Nothing but blanks is left.
  bool at_end() {
    skip_blanks();
    return x_rest.empty();
  }
  std::string_view rest() const { return x_rest; }
  bool sees(char c) { return !at_end() && x_rest.front() == c; }
  bool take(char c) {
    if (!sees(c)) return false;
    x_rest.remove_prefix(1);
    return true;
  }

  // A whole number with an optional sign. What does not fit is none.
  bool number(long& value) {
    if (at_end()) return false;
    std::string_view digits = x_rest;
    if (digits.front() == '+') digits.remove_prefix(1);
    if (digits.empty() || (digits.front() == '-' && digits.size() != x_rest.size())) return false;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    if (error != std::errc()) return false;
    x_rest.remove_prefix(static_cast<size_t>(end - x_rest.data()));
    return true;
  }
  bool number(int& value, int min, int max = INT_MAX) {
    long wide = 0;
    if (!number(wide) || wide < min || wide > max) return false;
    value = static_cast<int>(wide);
    return true;
  }

  // Letters, digits and underscores, beginning with a letter, in lower case; empty: there are none.
  std::string word() {
    std::string word;
    skip_blanks();
    while (!x_rest.empty() && (is_letter(x_rest.front()) || (!word.empty() && is_digit(x_rest.front())))) {
      word += static_cast<char>(std::tolower(static_cast<unsigned char>(x_rest.front())));
      x_rest.remove_prefix(1);
    }
    return word;
  }

 private:
  static bool is_letter(char c) { return std::isalpha(static_cast<unsigned char>(c)) != 0 || c == '_'; }
  static bool is_digit(char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; }
  void skip_blanks() {
    while (!x_rest.empty() && std::isspace(static_cast<unsigned char>(x_rest.front())) != 0) x_rest.remove_prefix(1);
  }

  std::string_view x_rest;
};

}  // namespace weft::omp
