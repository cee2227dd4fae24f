#pragma once
// The flags of a command write to variables of the caller. A wrong value is a usage error with the
// expected and the found value.

#include <algorithm>
#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace tpuest::cli {

// Returns true if a flag's value, as the help shows it, may be a path: "FILE|-",
// "PATH|STEP|latest", "DIR". Such a value has no scheme (core/base/path_scheme.h).
[[nodiscard]] bool TakesPath(std::string_view shown);

// `app` and the variables that flags write to must outlive the parse.
class FlagSet {
 public:
  explicit FlagSet(CLI::App& app) : app_(app) {}

  // Puts the flags that follow under this heading of the help.
  void Group(std::string name) { group_ = std::move(name); }

  // A flag without a value.
  void Switch(const std::string& flag, bool& to, const std::string& help);
  // A flag that takes text; the help shows it as `shown`.
  void Text(const std::string& flag, std::string& to, const std::string& shown,
            const std::string& help);
  void Text(const std::string& flag, std::optional<std::string>& to, const std::string& shown,
            const std::string& help);
  // A flag that may be repeated; each takes one word.
  void Repeated(const std::string& flag, std::vector<std::string>& to, const std::string& shown,
                const std::string& help);
  // A flag that takes a whole number from `least` to the most that T holds.
  template <class T>
  void Integer(const std::string& flag, T& to, int least, const std::string& help) {
    constexpr uint64_t kMost = std::numeric_limits<Number<T>>::max();
    AddInteger(
        flag, least, std::min<uint64_t>(kMost, std::numeric_limits<int64_t>::max()),
        [&to](int64_t number) { to = static_cast<Number<T>>(number); }, help);
  }
  // A flag that takes one of a few words, each with its value.
  template <class T>
  void Choice(const std::string& flag, T& to, const std::vector<std::pair<std::string, T>>& choices,
              const std::string& help) {
    std::vector<std::string> words;
    for (const auto& [word, value] : choices) words.push_back(word);
    AddChoice(
        flag, words, [&to, choices](size_t i) { to = choices[i].second; }, help);
  }
  // A flag whose value `read` parses: it returns nullopt, or for a wrong value the expected form.
  using Read = std::function<std::optional<std::string>(const std::string& given)>;
  void Checked(const std::string& flag, const Read& read, const std::string& shown,
               const std::string& help);

 private:
  template <class T>
  struct Of {
    using Type = T;
  };
  template <class T>
  struct Of<std::optional<T>> {
    using Type = T;
  };
  template <class T>
  using Number = typename Of<T>::Type;

  void AddInteger(const std::string& flag, int64_t least, int64_t most,
                  const std::function<void(int64_t)>& set, const std::string& help);
  void AddChoice(const std::string& flag, const std::vector<std::string>& words,
                 const std::function<void(size_t)>& set, const std::string& help);
  void Place(CLI::Option* option, const std::string& shown) const;

  CLI::App& app_;
  std::string group_;
};

}  // namespace tpuest::cli
