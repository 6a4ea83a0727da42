// option_table.hpp: the form of the option table.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "config/options.hpp"

namespace weft::rt {

enum class OptionType {
  Number,  // a whole number from min to max
  Bytes,   // the same with an optional K, M or G
  Word,    // one of `words` only
  Cpus,    // a list such as 0,2-5; empty: all
  Signal,  // a signal that can be handled: SIGUSR2, USR2, RTMIN+3, or its number
};

// What a text means. A word means its place in `words`; for a Number that also takes words, keep
// these places outside of min to max.
struct OptionValue {
  std::int64_t number = 0;
  CpuList cpus;
};

struct Option {
  const char* name;  // the environment variable, WEFT_<SECTION>_<NAME>
  OptionType type;
  const char* standard;  // the default, as the user would write it
  std::int64_t min, max;
  const char* words;  // separated by '|'; may be empty
  const char* help;   // one paragraph
  void (*store)(Options& options, const OptionValue& value);
};

// In the order of the documentation.
std::span<const Option> option_table();

// Whether `text` is allowed for `option`; if so, `value` is what it means.
bool parse_option(const Option& option, std::string_view text, OptionValue& value);

// What is allowed, in words: "auto, or a number from 1 to 4096".
std::string describe_allowed(const Option& option);

}  // namespace weft::rt
