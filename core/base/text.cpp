#include "core/base/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>

namespace tpuest {
namespace {

// Edits (insert, delete, replace, swap of neighbours) that lead from a to b.
size_t EditDistance(std::string_view a, std::string_view b) {
  std::vector<std::vector<size_t>> d(a.size() + 1, std::vector<size_t>(b.size() + 1));
  for (size_t i = 0; i <= a.size(); ++i) d[i][0] = i;
  for (size_t j = 0; j <= b.size(); ++j) d[0][j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t replace = d[i - 1][j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      d[i][j] = std::min({d[i - 1][j] + 1, d[i][j - 1] + 1, replace});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
        d[i][j] = std::min(d[i][j], d[i - 2][j - 2] + 1);
      }
    }
  }
  return d[a.size()][b.size()];
}

template <class T>
std::string ShortestText(T value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value > 0 ? "inf" : "-inf";
  return fmt::format("{}", value);
}

}  // namespace

std::optional<std::string> Nearest(std::string_view word,
                                   const std::vector<std::string>& candidates) {
  size_t best = std::max<size_t>(2, word.size() / 3) + 1;
  std::optional<std::string> nearest;
  for (const std::string& candidate : candidates) {
    const size_t distance = EditDistance(word, candidate);
    if (distance < best && distance < std::max(word.size(), candidate.size())) {
      best = distance;
      nearest = candidate;
    }
  }
  if (nearest || word.size() < 3) return nearest;
  for (const std::string& candidate : candidates) {
    if (!candidate.starts_with(word)) continue;
    if (!nearest || candidate.size() < nearest->size()) nearest = candidate;
  }
  return nearest;
}

std::string NumberText(double value) { return ShortestText(value); }
std::string NumberText(float value) { return ShortestText(value); }

std::optional<Period> ParsePeriod(std::string_view text) {
  double value = 0;
  const char* const end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc() || !std::isfinite(value) || value < 0) return std::nullopt;
  const std::string_view unit(rest, static_cast<size_t>(end - rest));
  if (unit.empty()) {
    if (value != std::floor(value)) return std::nullopt;
    return Period{value, Period::Unit::kSteps};
  }
  if (unit == "ep") return Period{value, Period::Unit::kEpochs};
  if (unit == "s") return Period{value, Period::Unit::kSeconds};
  if (unit == "m") return Period{value * 60, Period::Unit::kSeconds};
  if (unit == "h") return Period{value * 3600, Period::Unit::kSeconds};
  return std::nullopt;
}

std::string PeriodText(const Period& period) {
  const char* unit = "";
  if (period.unit == Period::Unit::kEpochs) unit = "ep";
  if (period.unit == Period::Unit::kSeconds) unit = "s";
  return NumberText(period.value) + unit;
}

std::vector<std::string> Split(std::string_view text, char separator) {
  std::vector<std::string> parts;
  size_t start = 0;
  while (true) {
    const size_t end = text.find(separator, start);
    parts.emplace_back(text.substr(start, end - start));
    if (end == std::string_view::npos) return parts;
    start = end + 1;
  }
}

std::string Join(const std::vector<std::string>& parts, std::string_view separator) {
  return fmt::format("{}", fmt::join(parts, separator));
}

bool StartsWith(std::string_view text, std::string_view prefix) { return text.starts_with(prefix); }
bool EndsWith(std::string_view text, std::string_view suffix) { return text.ends_with(suffix); }

std::string WithCommas(int64_t value) {
  std::string digits = fmt::format("{}", value < 0 ? -value : value);
  for (int at = static_cast<int>(digits.size()) - 3; at > 0; at -= 3) digits.insert(at, ",");
  return (value < 0 ? "-" : "") + digits;
}

}  // namespace tpuest
