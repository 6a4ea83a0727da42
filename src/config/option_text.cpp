// option_text.cpp: from the option table to text for people.

#include "config/option_table.hpp"

namespace weft::rt {
namespace {

std::string bytes_text(std::int64_t bytes) {
  for (const auto& [shift, unit] : {std::pair{30, 'G'}, std::pair{20, 'M'}, std::pair{10, 'K'}}) {
    const std::int64_t size = std::int64_t{1} << shift;
    if (bytes >= size && bytes % size == 0) return std::to_string(bytes / size).append(1, unit);
  }
  return std::to_string(bytes);
}

std::string words_text(std::string_view words) {
  std::string text;
  for (const char c : words) {
    if (c == '|') {
      text += ", ";
    } else {
      text += c;
    }
  }
  const std::size_t last = text.rfind(", ");
  if (last != text.npos) text.replace(last, 2, " or ");
  return text;
}

std::string range_text(const Option& option) {
  switch (option.type) {
    case OptionType::Word: return "";
    case OptionType::Cpus: return "a list of CPUs such as 0,2-5";
    case OptionType::Signal: return "a signal such as USR2, RTMIN+3 or 12";
    case OptionType::Number:
      return "a number from " + std::to_string(option.min) + " to " + std::to_string(option.max);
    case OptionType::Bytes:
      return "a size from " + bytes_text(option.min) + " to " + bytes_text(option.max) +
             " (bytes, or with K, M or G)";
  }
  return "";
}

// Lines of at most `width` columns, each after `indent`.
std::string wrap(std::string_view text, std::string_view indent, std::size_t width) {
  std::string result, line;
  while (!text.empty()) {
    const std::size_t end = text.find(' ');
    const std::string_view word = text.substr(0, end);
    if (!line.empty() && indent.size() + line.size() + 1 + word.size() > width) {
      result.append(indent).append(line).append("\n");
      line.clear();
    }
    if (!line.empty()) line += ' ';
    line += word;
    text.remove_prefix(end == text.npos ? text.size() : end + 1);
  }
  return result.append(indent).append(line).append("\n");
}

std::string standard_text(const Option& option) {
  return *option.standard != '\0' ? option.standard : "empty";
}

}  // namespace

std::string describe_allowed(const Option& option) {
  const std::string words = words_text(option.words);
  const std::string range = range_text(option);
  if (words.empty()) return range;
  return range.empty() ? words : words + ", or " + range;
}

std::string options_help() {
  std::string text;
  for (const Option& option : option_table()) {
    text += std::string(option.name) + "=" + standard_text(option) + "\n";
    text += wrap("Takes " + describe_allowed(option) + ".", "    ", 80);
    text += wrap(option.help, "    ", 80);
  }
  return text;
}

std::string options_markdown() {
  std::string text =
      "# Options\n\n"
      "Set in the environment, read when Weft is initialised. A value that is not allowed is\n"
      "reported on standard error, and the default is used. This page is made from the table in\n"
      "`src/config/options.cpp`; a test compares the two and says how to renew the page.\n";
  for (const Option& option : option_table()) {
    text += std::string("\n## `") + option.name + "`\n\n";
    text +=
        wrap("Takes " + describe_allowed(option) + ". Default: `" + standard_text(option) + "`.",
             "", 100);
    text += "\n" + wrap(option.help, "", 100);
  }
  return text;
}

}  // namespace weft::rt
