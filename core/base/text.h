#pragma once
// Words and numbers as text.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/visit.h"

namespace tpuest {

// The candidate nearest to `word` by edit distance (Damerau-Levenshtein, at most max(2, a third of
// its length)); otherwise the shortest one that begins with `word`, if that has at least three
// letters; otherwise nullopt.
[[nodiscard]] std::optional<std::string> Nearest(std::string_view word,
                                                 const std::vector<std::string>& candidates);

// The shortest text that parses to the same number: "0.1", "1e-07", "3", "nan", "inf".
[[nodiscard]] std::string NumberText(double value);
[[nodiscard]] std::string NumberText(float value);

// Reads "500", "2ep", "90s", "10m" or "1h"; nullopt for any other text.
[[nodiscard]] std::optional<Period> ParsePeriod(std::string_view text);
[[nodiscard]] std::string PeriodText(const Period& period);

[[nodiscard]] std::vector<std::string> Split(std::string_view text, char separator);
[[nodiscard]] std::string Join(const std::vector<std::string>& parts, std::string_view separator);
[[nodiscard]] bool StartsWith(std::string_view text, std::string_view prefix);
[[nodiscard]] bool EndsWith(std::string_view text, std::string_view suffix);

// "1,234,567".
[[nodiscard]] std::string WithCommas(int64_t value);

}  // namespace tpuest
