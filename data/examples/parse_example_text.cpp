#include "data/examples/parse_example_text.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <string_view>

namespace tpuest::data {
namespace {

std::string YamlEscaped(const std::string& text) {
  std::string escaped;
  for (const char c : text) {
    if (c == '"' || c == '\\') escaped += '\\';
    escaped += c;
  }
  return escaped;
}

}  // namespace

std::string YamlKey(const std::string& name) {
  // Words that a YAML reader does not take as strings, in any case.
  constexpr std::array<std::string_view, 8> kWords = {"true", "false", "null", "yes",
                                                      "no",   "on",    "off",  "nan"};
  constexpr std::string_view kLetters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
  constexpr std::string_view kRest = "0123456789_/.-";
  std::string lower = name;
  for (char& c : lower) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  const size_t first_other = name.find_first_not_of(std::string(kLetters) + std::string(kRest));
  const bool plain = name.find_first_of(kLetters) == 0 && first_other == std::string::npos &&
                     std::find(kWords.begin(), kWords.end(), lower) == kWords.end();
  return plain ? name : fmt::format("\"{}\"", YamlEscaped(name));
}

std::string FeatureLine(const std::string& name, const FeatureOptions& feature) {
  if (const auto* const fixed = std::get_if<FixedLenFeature>(&feature)) {
    return fmt::format("  {}: {{type: FixedLenFeature, shape: [{}], dtype: {}}}\n", YamlKey(name),
                       fmt::join(fixed->shape, ", "), fixed->dtype);
  }
  const std::string& dtype =
      std::visit([](const auto& any) -> const std::string& { return any.dtype; }, feature);
  return fmt::format("  {}: {{type: VarLenFeature, dtype: {}}}\n", YamlKey(name), dtype);
}

}  // namespace tpuest::data
