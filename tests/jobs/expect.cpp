#include "tests/jobs/expect.h"

#include <fmt/format.h>
#include <regex.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>
#include <sstream>

#include "core/base/process/files.h"
#include "core/base/text.h"

namespace tpuest {
namespace {

using Json = nlohmann::json;
using Faults = std::vector<std::string>;

// An extended regular expression whose ^ and $ match at lines.
class Regex {
 public:
  explicit Regex(const std::string& pattern) {
    const int error = regcomp(&regex_, pattern.c_str(), REG_EXTENDED | REG_NEWLINE | REG_NOSUB);
    if (error == 0) return;
    char message[200];
    regerror(error, &regex_, message, sizeof(message));
    fault_ = message;
  }
  ~Regex() {
    if (fault_.empty()) regfree(&regex_);
  }
  Regex(const Regex&) = delete;
  Regex& operator=(const Regex&) = delete;
  [[nodiscard]] bool IsIn(const std::string& text) const {
    return regexec(&regex_, text.c_str(), 0, nullptr, 0) == 0;
  }
  [[nodiscard]] const std::string& fault() const { return fault_; }

 private:
  regex_t regex_;
  std::string fault_;
};

bool IsRegex(const std::string& pattern) {
  return pattern.size() > 2 && pattern.front() == '/' && pattern.back() == '/';
}

// `wanted`: whether each of the patterns must be in the text, or none.
void CompareText(const std::string& name, const std::string& text,
                 const std::vector<std::string>& patterns, bool wanted, Faults& faults) {
  for (const std::string& pattern : patterns) {
    bool is_in = text.find(pattern) != std::string::npos;
    if (IsRegex(pattern)) {
      const Regex regex(pattern.substr(1, pattern.size() - 2));
      if (!regex.fault().empty()) {
        faults.push_back(fmt::format("{}: {}", pattern, regex.fault()));
        continue;
      }
      is_in = regex.IsIn(text);
    }
    if (is_in != wanted) {
      faults.push_back(
          fmt::format("{} {} '{}'", name, wanted ? "has no" : "should not have", pattern));
    }
  }
}

// One document as it is; several, one per line, as an array; nullopt for anything else.
std::optional<Json> ParseJson(const std::string& text) {
  Json document = Json::parse(text, nullptr, false);
  if (!document.is_discarded()) return document;
  Json documents = Json::array();
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) {
    if (line.empty()) continue;
    documents.push_back(Json::parse(line, nullptr, false));
    if (documents.back().is_discarded()) return std::nullopt;
  }
  return documents.empty() ? std::nullopt : std::optional(documents);
}

// The element that a part of a path names: a key, or an index, which counts from the end if
// negative.
const Json* Child(const Json& value, const std::string& name) {
  if (value.is_object()) {
    const auto found = value.find(name);
    return found == value.end() ? nullptr : &*found;
  }
  if (!value.is_array()) return nullptr;
  char* end = nullptr;
  const long index = std::strtol(name.c_str(), &end, 10);
  if (*end != '\0' || name.empty()) return nullptr;
  const long size = static_cast<long>(value.size());
  const long position = index < 0 ? size + index : index;
  return position < 0 || position >= size ? nullptr : &value[static_cast<size_t>(position)];
}

// "metrics.accuracy", "-1.step", or "/metrics/a.b" if a name contains a dot; "" is the whole
// document.
const Json* At(const Json& document, const std::string& path) {
  if (path.empty()) return &document;
  const bool has_slashes = path.front() == '/';
  const Json* value = &document;
  for (const std::string& name :
       Split(has_slashes ? path.substr(1) : path, has_slashes ? '/' : '.')) {
    value = Child(*value, name);
    if (value == nullptr) return nullptr;
  }
  return value;
}

bool EqualsScalar(const Json& found, const YAML::Node& expected) {
  const auto text = expected.IsNull() ? "null" : expected.as<std::string>();
  if (found.is_string()) return found.get<std::string>() == text && !expected.IsNull();
  // A quoted scalar is text and equals no number, bool or null.
  if (expected.Tag() == "!") return false;
  if (found.is_boolean()) return text == (found.get<bool>() ? "true" : "false");
  if (found.is_null()) return text == "null" || text == "~";
  double number = 0;
  return found.is_number() && YAML::convert<double>::decode(expected, number) &&
         found.get<double>() == number;
}

bool Equals(const Json& found, const YAML::Node& expected) {
  if (!expected.IsSequence()) return EqualsScalar(found, expected);
  if (!found.is_array() || found.size() != expected.size()) return false;
  for (size_t i = 0; i < found.size(); ++i) {
    if (!Equals(found[i], expected[i])) return false;
  }
  return true;
}

bool Contains(const Json& found, const YAML::Node& expected) {
  if (found.is_string()) {
    return found.get<std::string>().find(expected.as<std::string>()) != std::string::npos;
  }
  if (found.is_object()) return found.contains(expected.as<std::string>());
  for (const Json& element : found) {
    if (Equals(element, expected)) return true;
  }
  return false;
}

// Whether a value meets one condition; nullopt for a condition that does not exist.
std::optional<bool> Meets(const Json& found, const std::string& condition, const YAML::Node& node,
                          const YAML::Node& conditions) {
  const double number = found.is_number() ? found.get<double>() : NAN;
  if (condition == "min") return number >= node.as<double>();
  if (condition == "max") return number <= node.as<double>();
  if (condition == "near") {
    return conditions["tol"] &&
           std::abs(number - node.as<double>()) <= conditions["tol"].as<double>();
  }
  if (condition == "tol") return static_cast<bool>(conditions["near"]);
  if (condition == "length") {
    const size_t length = found.is_string() ? found.get<std::string>().size() : found.size();
    return length == node.as<size_t>();
  }
  if (condition == "contains") return Contains(found, node);
  if (condition == "exists") return node.as<bool>();
  return std::nullopt;
}

std::string InFlow(const YAML::Node& node) {
  YAML::Emitter emitter;
  if (node.IsScalar() && node.Tag() == "!") emitter << YAML::DoubleQuoted;
  emitter << YAML::Flow << node;
  return emitter.c_str();
}

std::string Shortened(const Json& value) {
  std::string text = value.dump();
  if (text.size() > 200) text = text.substr(0, 200) + "...";
  return text;
}

bool IsExpectedAway(const YAML::Node& expected) {
  return expected.IsMap() && expected["exists"] && !expected["exists"].as<bool>();
}

void CompareValue(const std::string& name, const Json& document, const JsonCheck& check,
                  Faults& faults) {
  const std::string place = name + " " + (check.path.empty() ? "as a whole" : check.path);
  const Json* found = At(document, check.path);
  if (found == nullptr) {
    if (!IsExpectedAway(check.expected)) faults.push_back(place + " is not there");
    return;
  }
  const auto report = [&] {
    faults.push_back(
        fmt::format("{}: expected {}, found {}", place, InFlow(check.expected), Shortened(*found)));
  };
  if (!check.expected.IsMap()) {
    if (!Equals(*found, check.expected)) report();
    return;
  }
  for (const auto& entry : check.expected) {
    const auto condition = entry.first.as<std::string>();
    const std::optional<bool> meets = Meets(*found, condition, entry.second, check.expected);
    if (!meets) faults.push_back(fmt::format("{}: there is no condition '{}'", place, condition));
    if (meets && !*meets) return report();
  }
}

void CompareJson(const std::string& name, const std::string& text,
                 const std::vector<JsonCheck>& checks, Faults& faults) {
  if (checks.empty()) return;
  const std::optional<Json> document = ParseJson(text);
  if (!document) {
    faults.push_back(name + " is not JSON");
    return;
  }
  for (const JsonCheck& check : checks) {
    try {
      CompareValue(name, *document, check, faults);
    } catch (const YAML::Exception& fault) {
      faults.push_back(fmt::format("{} {}: {}", name, check.path, fault.msg));
    }
  }
}

// The only file that a glob matches, or a fault.
std::optional<std::string> TheFile(const std::string& folder, const std::string& glob,
                                   Faults& faults) {
  const std::vector<std::string> files = FilesOf(folder, glob);
  if (files.size() == 1) return files.front();
  faults.push_back(fmt::format("{}: expected one file, found {}", glob, files.size()));
  return std::nullopt;
}

void CompareFiles(const Step& step, const std::string& folder, Faults& faults) {
  for (const std::string& glob : step.files) {
    if (FilesOf(folder, glob).empty()) faults.push_back(glob + " is not there");
  }
  for (const std::string& glob : step.no_files) {
    for (const std::string& file : FilesOf(folder, glob)) {
      faults.push_back(fmt::format("{} should not be there", file.substr(folder.size() + 1)));
    }
  }
}

void CompareBytes(const std::vector<std::pair<std::string, std::string>>& pairs, bool same,
                  const std::string& folder, Faults& faults) {
  for (const auto& [left, right] : pairs) {
    const auto left_file = TheFile(folder, left, faults);
    const auto right_file = TheFile(folder, right, faults);
    if (!left_file || !right_file) continue;
    if ((ReadFile(*left_file) == ReadFile(*right_file)) != same) {
      faults.push_back(fmt::format("{} and {} {}", left, right, same ? "differ" : "are the same"));
    }
  }
}

}  // namespace

std::vector<std::string> FilesOf(const std::string& folder, const std::string& glob) {
  return Glob(StartsWith(glob, "/") ? glob : JoinPath(folder, glob));
}

std::vector<std::string> Compare(const Step& step, const ProcessResult& result,
                                 const std::string& folder) {
  Faults faults;
  if (result.is_over_limit) {
    faults.push_back(fmt::format("took more than {} s and was killed", step.limit_s));
    return faults;
  }
  if (step.signal && !result.was_signalled) faults.push_back("ended before its signal was due");
  if (result.code != step.code) {
    faults.push_back(fmt::format("expected exit {}, found {}", step.code, result.code));
  }
  CompareText("stdout", result.out, step.in_stdout, true, faults);
  CompareText("stdout", result.out, step.not_in_stdout, false, faults);
  CompareText("stderr", result.err, step.in_stderr, true, faults);
  CompareText("stderr", result.err, step.not_in_stderr, false, faults);
  CompareJson("stdout", result.out, step.json, faults);
  for (const auto& [glob, checks] : step.json_files) {
    if (const auto file = TheFile(folder, glob, faults)) {
      CompareJson(glob, ReadFile(*file), checks, faults);
    }
  }
  CompareFiles(step, folder, faults);
  CompareBytes(step.same_bytes, true, folder, faults);
  CompareBytes(step.different_bytes, false, folder, faults);
  return faults;
}

}  // namespace tpuest
