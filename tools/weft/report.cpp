#include "report.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace weft::command {
namespace {

std::string quoted(const std::string& text) {
  std::string result = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      result += {'\\', c};
    } else if (static_cast<unsigned char>(c) < 0x20) {
      result += fmt::format("\\u{:04x}", static_cast<unsigned>(c));
    } else {
      result += c;
    }
  }
  return result + '"';
}

std::string as_json(const Report::Value& value) {
  if (const auto* text = std::get_if<std::string>(&value)) return quoted(*text);
  if (const auto* number = std::get_if<double>(&value)) return fmt::format("{}", *number);
  return std::get<bool>(value) ? "true" : "false";
}

std::string as_text(const Report::Value& value) {
  if (const auto* text = std::get_if<std::string>(&value)) return *text;
  if (const auto* number = std::get_if<double>(&value)) return fmt::format("{}", *number);
  return std::get<bool>(value) ? "yes" : "no";
}

}  // namespace

std::string Report::json(unsigned indent) const {
  if (x_kind == Kind::kNone) return "null";
  if (x_kind == Kind::kValue) return as_json(x_value);
  const bool list = x_kind == Kind::kList;
  if (x_items.empty()) return list ? "[]" : "{}";
  std::string result = list ? "[" : "{";
  const char* separator = "\n";
  for (const auto& [name, item] : x_items) {
    result += separator + std::string(2 * indent + 2, ' ');
    if (!list) result += quoted(name) + ": ";
    result += item.json(indent + 1);
    separator = ",\n";
  }
  return result + "\n" + std::string(2 * indent, ' ') + (list ? "]" : "}");
}

// Of a list, or an object whose parts are values.
std::string Report::line() const {
  if (x_kind == Kind::kNone) return "none";
  if (x_kind == Kind::kValue) return as_text(x_value);
  std::string result;
  for (const auto& [name, item] : x_items) {
    if (!result.empty()) result += x_kind == Kind::kList ? ", " : "; ";
    if (!name.empty()) result += name + " ";
    result += item.line();
  }
  return result.empty() ? "none" : result;
}

// A list of objects with the same names: a line each, in columns.
std::string Report::table(unsigned indent) const {
  std::vector<size_t> widths;
  for (const auto& [name, row] : x_items) {
    widths.resize(std::max(widths.size(), row.x_items.size()));
    for (size_t i = 0; i < row.x_items.size(); ++i) widths[i] = std::max(widths[i], row.x_items[i].second.line().size());
  }
  std::string result;
  for (const auto& [name, row] : x_items) {
    std::string line(2 * indent, ' ');
    for (size_t i = 0; i < row.x_items.size(); ++i) line += fmt::format("{:<{}}  ", row.x_items[i].second.line(), widths[i]);
    result += line.erase(line.find_last_not_of(' ') + 1) + "\n";
  }
  return result;
}

std::string Report::text(unsigned indent) const {
  if (x_kind == Kind::kList) return table(indent);
  std::string result;
  size_t width = 0;
  for (const auto& [name, item] : x_items) width = std::max(width, item.x_items.empty() ? name.size() : 0);
  for (const auto& [name, item] : x_items) {
    result += std::string(2 * indent, ' ');
    result += item.x_items.empty() ? fmt::format("{:<{}}  {}\n", name, width, item.line()) : name + "\n" + item.text(indent + 1);
  }
  return result;
}

}  // namespace weft::command
