// config.hpp: what schedulers' and pools' configurations have in common: values of three types by number.
#pragma once

#include <map>

namespace weft::abt {

// As ABT_sched_config_type and ABT_pool_config_type number them.
enum class ValueType { kInt, kDouble, kPointer };
inline bool valid(ValueType type) noexcept { return static_cast<unsigned>(type) <= 2; }

class Config {
 public:
  // val == nullptr: nothing is set from then on. May throw std::bad_alloc.
  void set(int key, ValueType type, const void* val) {
    if (val == nullptr) {
      values_.erase(key);
      return;
    }
    Value value{type, {}};
    switch (type) {
      case ValueType::kInt: value.as_int = *static_cast<const int*>(val); break;
      case ValueType::kDouble: value.as_double = *static_cast<const double*>(val); break;
      case ValueType::kPointer: value.as_pointer = *static_cast<void* const*>(val); break;
    }
    values_[key] = value;
  }

  // False: nothing is set. type and val may be null.
  bool get(int key, ValueType* type, void* val) const noexcept {
    const auto found = values_.find(key);
    if (found == values_.end()) return false;
    const Value& value = found->second;
    if (type != nullptr) *type = value.type;
    if (val == nullptr) return true;
    switch (value.type) {
      case ValueType::kInt: *static_cast<int*>(val) = value.as_int; break;
      case ValueType::kDouble: *static_cast<double*>(val) = value.as_double; break;
      case ValueType::kPointer: *static_cast<void**>(val) = value.as_pointer; break;
    }
    return true;
  }

  int integer(int key, int otherwise) const noexcept {
    const auto found = values_.find(key);
    return found != values_.end() && found->second.type == ValueType::kInt ? found->second.as_int : otherwise;
  }

 private:
  struct Value {
    ValueType type;
    union {
      int as_int;
      double as_double;
      void* as_pointer;
    };
  };
  std::map<int, Value> values_;
};

}  // namespace weft::abt
