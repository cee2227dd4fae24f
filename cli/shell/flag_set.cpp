#include "cli/shell/flag_set.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <optional>
#include <string_view>

#include "core/base/error.h"
#include "core/base/path_scheme.h"
#include "core/base/text.h"
#include "core/base/whole_number.h"

namespace tpuest::cli {
namespace {

// The words by which help shows a path.
constexpr std::array<std::string_view, 7> kPathWords = {"DIR",  "FILE",   "FILE.svg", "OTHER",
                                                        "PATH", "PREFIX", "RUN"};

std::string NameOf(const CLI::Option& option) {
  const std::vector<std::string>& names = option.get_lnames();
  return names.empty() ? "-" + option.get_snames().front() : "--" + names.front();
}

// Throws Error kUsage, which CLI11 passes on.
std::string CheckPath(const std::string& flag, const std::string& given) {
  if (const std::optional<SchemeRefusal> refusal = RefusalOfScheme(given)) {
    throw Error(Code::kUsage, fmt::format("{}: {}", flag, refusal->message), refusal->hint);
  }
  return "";
}

}  // namespace

bool TakesPath(std::string_view shown) {
  const std::vector<std::string> words = Split(shown, '|');
  return std::any_of(words.begin(), words.end(), [](const std::string& word) {
    return std::find(kPathWords.begin(), kPathWords.end(), word) != kPathWords.end();
  });
}

void FlagSet::Place(CLI::Option* option, const std::string& shown) const {
  if (!shown.empty()) option->option_text(shown);
  if (TakesPath(shown)) {
    option->check(
        [flag = NameOf(*option)](const std::string& given) { return CheckPath(flag, given); });
  }
  if (!group_.empty()) option->group(group_);
}

void FlagSet::Switch(const std::string& flag, bool& to, const std::string& help) {
  Place(app_.add_flag(flag, to, help)->disable_flag_override(), "");
}

void FlagSet::Text(const std::string& flag, std::string& to, const std::string& shown,
                   const std::string& help) {
  Place(app_.add_option(flag, to, help), shown);
}

void FlagSet::Text(const std::string& flag, std::optional<std::string>& to,
                   const std::string& shown, const std::string& help) {
  Place(app_.add_option(flag, to, help), shown);
}

void FlagSet::Repeated(const std::string& flag, std::vector<std::string>& to,
                       const std::string& shown, const std::string& help) {
  Place(app_.add_option(flag, to, help)->allow_extra_args(false), shown);
}

void FlagSet::Checked(const std::string& flag, const Read& read, const std::string& shown,
                      const std::string& help) {
  const auto check = [flag, read](const std::string& given) {
    if (const auto expected = read(given)) {
      throw CLI::ValidationError(flag, fmt::format("expected {}, found '{}'", *expected, given));
    }
  };
  Place(app_.add_option_function<std::string>(flag, check, help), shown);
}

void FlagSet::AddInteger(const std::string& flag, int64_t least, int64_t most,
                         const std::function<void(int64_t)>& set, const std::string& help) {
  const auto read = [set, least, most](const std::string& given) -> std::optional<std::string> {
    const std::optional<int64_t> number = WholeNumber<int64_t>(given);
    if (!number || *number < least || *number > most) {
      return fmt::format("a whole number from {} on", least);
    }
    set(*number);
    return std::nullopt;
  };
  Checked(flag, read, "N", help);
}

void FlagSet::AddChoice(const std::string& flag, const std::vector<std::string>& words,
                        const std::function<void(size_t)>& set, const std::string& help) {
  const auto read = [set, words](const std::string& given) -> std::optional<std::string> {
    const auto found = std::find(words.begin(), words.end(), given);
    if (found == words.end()) return Join(words, " or ");
    set(static_cast<size_t>(found - words.begin()));
    return std::nullopt;
  };
  Checked(flag, read, Join(words, "|"), help);
}

}  // namespace tpuest::cli
