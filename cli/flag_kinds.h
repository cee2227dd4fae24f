#pragma once
// Kinds of flags that CLI11 lacks.

#include <CLI/CLI.hpp>
#include <charconv>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "core/base/error.h"
#include "core/base/text.h"

namespace tpuest::cli {

// A flag that takes one of a few words.
template <class T>
CLI::Option* AddChoice(CLI::App& app, const std::string& flag, T& to,
                       const std::vector<std::pair<std::string, T>>& choices,
                       const std::string& help) {
  std::vector<std::string> words;
  for (const auto& [word, value] : choices) words.push_back(word);
  const auto read = [&to, choices, words, flag](const std::string& given) {
    for (const auto& [word, value] : choices) {
      if (word != given) continue;
      to = value;
      return;
    }
    throw CLI::ValidationError(flag,
                               fmt::format("expected {}, found '{}'", Join(words, " or "), given));
  };
  return app.add_option_function<std::string>(flag, read, help)->option_text(Join(words, "|"));
}

// A flag that takes a whole number of at least `least`.
template <class T>
CLI::Option* AddInteger(CLI::App& app, const std::string& flag, T& to, int least,
                        const std::string& help) {
  const auto read = [&to, least, flag](const std::string& given) {
    using Number = std::conditional_t<std::is_same_v<T, std::optional<int>>, int, int64_t>;
    Number number = 0;
    const char* const end = given.data() + given.size();
    const auto [rest, error] = std::from_chars(given.data(), end, number);
    if (error != std::errc() || rest != end || number < least) {
      throw CLI::ValidationError(
          flag, fmt::format("expected a whole number from {} on, found '{}'", least, given));
    }
    to = static_cast<Number>(number);
  };
  return app.add_option_function<std::string>(flag, read, help)->option_text("N");
}

// A flag without a value.
inline CLI::Option* AddSwitch(CLI::App& app, const std::string& flag, bool& to,
                              const std::string& help) {
  return app.add_flag(flag, to, help)->disable_flag_override();
}

// A flag that takes text; `shown` stands for it in the help.
template <class T>
CLI::Option* AddText(CLI::App& app, const std::string& flag, T& to, const std::string& shown,
                     const std::string& help) {
  return app.add_option(flag, to, help)->option_text(shown);
}

}  // namespace tpuest::cli
