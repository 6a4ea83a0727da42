// report.hpp: a tree of names and values, as text for people or as JSON.
#pragma once

#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace weft::command {

class Report {
 public:
  using Value = std::variant<std::string, double, bool>;

  // Null in JSON, "none" as text.
  static Report none() { return Report(Kind::kNone); }
  static Report list() { return Report(Kind::kList); }
  static Report object() { return Report(Kind::kObject); }
  Report(std::string text) : x_kind(Kind::kValue), x_value(std::move(text)) {}
  Report(const char* text) : Report(std::string(text)) {}
  Report(double number) : x_kind(Kind::kValue), x_value(number) {}
  Report(int number) : Report(static_cast<double>(number)) {}
  Report(bool yes) : x_kind(Kind::kValue), x_value(yes) {}

  void add(Report item) { x_items.emplace_back("", std::move(item)); }
  void add(std::string name, Report item) { x_items.emplace_back(std::move(name), std::move(item)); }

  std::string json(unsigned indent = 0) const;
  std::string text(unsigned indent = 0) const;

 private:
  enum class Kind { kNone, kValue, kList, kObject };
  explicit Report(Kind kind) : x_kind(kind) {}
  std::string line() const;
  std::string table(unsigned indent) const;

  Kind x_kind;
  Value x_value;
  std::vector<std::pair<std::string, Report>> x_items;  // names: of an object's
};

}  // namespace weft::command
