#include "core/estimator/checkpoint/warm_start/warm_start_variables.h"

#include <algorithm>

#include "core/base/text.h"
#include "core/base/text/pattern.h"

namespace tpuest {
namespace {

using Variables = std::vector<const Variable*>;

// "{'a', 'b'}" and "dict_keys(['a', 'b'])".
std::string QuotedNames(const std::vector<std::string>& names) {
  return names.empty() ? "" : "'" + Join(names, "', '") + "'";
}

// A pattern that matches as Python's re.match does, against the name with and without TensorFlow's
// ":0".
class Scope {
 public:
  explicit Scope(const std::string& pattern) try : pattern_(pattern) {
  } catch (Error& error) {
    throw std::move(error).Key(kKey);
  }
  [[nodiscard]] bool Match(const std::string& name) const {
    try {
      return pattern_.FoundAtStart(name) || pattern_.FoundAtStart(name + ":0");
    } catch (Error& error) {
      throw std::move(error).Key(kKey);
    }
  }

 private:
  static constexpr const char* kKey = "warm_start_from.vars_to_warm_start";
  Pattern pattern_;
};

Variables Pick(const WarmStartSettings& settings, const Graph& graph, Log& log) {
  std::vector<Scope> scopes;
  bool trainable_only = true;
  if (!settings.vars_to_warm_start) {
    scopes.emplace_back("");
  } else if (const auto* one = std::get_if<std::string>(&*settings.vars_to_warm_start)) {
    scopes.emplace_back(*one);
  } else {
    trainable_only = false;
    for (const auto& each : std::get<std::vector<std::string>>(*settings.vars_to_warm_start)) {
      scopes.emplace_back(each);
    }
  }
  if (trainable_only) log.Info("Warm-starting variables only in TRAINABLE_VARIABLES.");
  Variables picked;
  for (const auto& variable : graph.variables()) {
    if (variable->local || (trainable_only && !variable->trainable)) continue;
    const bool matches = std::any_of(scopes.begin(), scopes.end(),
                                     [&](const Scope& s) { return s.Match(variable->name); });
    if (matches) picked.push_back(variable.get());
  }
  return picked;
}

// Throws Error kUsage for names in a dict of the settings that match no selected variable.
template <class T>
void CheckUsed(const std::map<std::string, T>& given, const std::string& field,
               const Variables& picked) {
  std::vector<std::string> viable;
  for (const Variable* const variable : picked) viable.push_back(variable->name);
  std::vector<std::string> unused;
  for (const auto& [name, value] : given) {
    if (std::find(viable.begin(), viable.end(), name) == viable.end()) unused.push_back(name);
  }
  if (unused.empty()) return;
  const auto nearest = Nearest(unused.front(), viable);
  throw Error(Code::kUsage,
              fmt::format("You provided the following variables in {} that were not used: {{{}}}.  "
                          "Perhaps you misspelled them?  Here is the list of viable variable "
                          "names: dict_keys([{}])",
                          field, QuotedNames(unused), QuotedNames(viable)),
              nearest ? fmt::format("did you mean '{}'?", *nearest) : "")
      .Key(fmt::format("warm_start_from.{}.{}", field, unused.front()));
}

}  // namespace

std::vector<const Variable*> PickVariables(const WarmStartSettings& settings, const Graph& graph,
                                           Log& log) {
  Variables picked = Pick(settings, graph, log);
  CheckUsed(settings.var_name_to_prev_var_name, "var_name_to_prev_var_name", picked);
  CheckUsed(settings.var_name_to_vocab_info, "var_name_to_vocab_info", picked);
  return picked;
}

}  // namespace tpuest
