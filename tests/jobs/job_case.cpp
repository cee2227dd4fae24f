#include "tests/jobs/job_case.h"

#include <algorithm>
#include <csignal>
#include <functional>
#include <sstream>

#include "core/base/error.h"
#include "core/base/text.h"

namespace tpuest {
namespace {

// The start of a document, from which yaml-cpp counts its lines.
struct Origin {
  std::string file;
  int first_line = 1;
};

[[noreturn]] void Refuse(const Origin& origin, const YAML::Node& node, const std::string& message) {
  const int line = origin.first_line + node.Mark().line;
  throw Error(Code::kUsage, fmt::format("{}:{}: {}", origin.file, line, message));
}

std::vector<std::string> Texts(const YAML::Node& node) {
  if (node.IsScalar()) return {node.as<std::string>()};
  return node.as<std::vector<std::string>>();
}

std::vector<JsonCheck> JsonChecks(const YAML::Node& node) {
  std::vector<JsonCheck> checks;
  for (const auto& entry : node) checks.push_back({entry.first.as<std::string>(), entry.second});
  return checks;
}

std::vector<std::pair<std::string, std::string>> Pairs(const YAML::Node& node) {
  std::vector<std::pair<std::string, std::string>> pairs;
  for (const YAML::Node& pair : node) {
    const auto names = pair.as<std::vector<std::string>>();
    if (names.size() != 2) throw YAML::RepresentationException(pair.Mark(), "not a pair");
    pairs.emplace_back(names[0], names[1]);
  }
  return pairs;
}

SignalPlan Signal(const Origin& origin, const YAML::Node& node) {
  static const std::map<std::string, int> kSignals = {
      {"TERM", SIGTERM}, {"INT", SIGINT}, {"KILL", SIGKILL}, {"USR1", SIGUSR1}, {"HUP", SIGHUP}};
  SignalPlan plan;
  for (const auto& entry : node) {
    const auto key = entry.first.as<std::string>();
    const auto value = entry.second.as<std::string>();
    if (key == "send" && kSignals.count(value)) {
      plan.signal = kSignals.at(value);
    } else if (key == "after") {
      plan.after = value;
    } else if (key == "after_file") {
      plan.after_file = value;
    } else {
      Refuse(origin, entry.first, fmt::format("signal has no '{}: {}'", key, value));
    }
  }
  if (plan.signal == 0 || plan.after.empty() == plan.after_file.empty()) {
    Refuse(origin, node, "signal needs 'send' and one of 'after', 'after_file'");
  }
  return plan;
}

// Replaces the word JOB by the name of the job file.
std::string WithJob(const std::string& text, const std::string& job) {
  const auto is_word = [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '$' || c == '{';
  };
  std::string result;
  for (size_t i = 0; i < text.size();) {
    const bool starts = i == 0 || !is_word(text[i - 1]);
    const bool ends = i + 3 >= text.size() || !is_word(text[i + 3]);
    if (starts && ends && text.compare(i, 3, "JOB") == 0) {
      result += job;
      i += 3;
    } else {
      result += text[i++];
    }
  }
  return result;
}

// The words of a command line that needs no shell: plain words, and quoted text without expansions.
// nullopt for any other command line.
std::optional<std::vector<std::string>> PlainWords(const std::string& line) {
  std::vector<std::string> words;
  bool in_word = false;
  for (size_t i = 0; i < line.size(); ++i) {
    const char c = line[i];
    if (c == ' ') {
      in_word = false;
      continue;
    }
    if (!in_word) words.emplace_back();
    in_word = true;
    if (c == '\'' || c == '"') {
      const size_t end = line.find(c, i + 1);
      if (end == std::string::npos) return std::nullopt;
      const std::string text = line.substr(i + 1, end - i - 1);
      if (c == '"' && text.find_first_of("$`\\") != std::string::npos) return std::nullopt;
      words.back() += text;
      i = end;
    } else if (std::string_view("$`\\|&;<>(){}[]*?~#!\n\t").find(c) != std::string_view::npos) {
      return std::nullopt;
    } else {
      words.back() += c;
    }
  }
  return words;
}

using Setter = std::function<void(Step&, const YAML::Node&)>;

// The keys of a step and their setters.
const std::map<std::string, Setter>& StepKeys() {
  static const std::map<std::string, Setter> kKeys = {
      {"command", [](Step& step,
                     const YAML::Node& node) { step.script = "tpuest " + node.as<std::string>(); }},
      {"shell", [](Step& step, const YAML::Node& node) { step.script = node.as<std::string>(); }},
      {"write", [](Step& step, const YAML::Node& node) { step.write = node.as<std::string>(); }},
      {"text", [](Step& step, const YAML::Node& node) { step.text = node.as<std::string>(); }},
      {"flip", [](Step& step, const YAML::Node& node) { step.flip = node.as<std::string>(); }},
      {"at", [](Step& step, const YAML::Node& node) { step.at = node.as<int64_t>(); }},
      {"stdin", [](Step& step, const YAML::Node& node) { step.input = node.as<std::string>(); }},
      {"env",
       [](Step& step, const YAML::Node& node) {
         step.environment = node.as<std::map<std::string, std::string>>();
       }},
      {"code", [](Step& step, const YAML::Node& node) { step.code = node.as<int>(); }},
      {"limit_s", [](Step& step, const YAML::Node& node) { step.limit_s = node.as<double>(); }},
      {"stdout", [](Step& step, const YAML::Node& node) { step.in_stdout = Texts(node); }},
      {"not_stdout", [](Step& step, const YAML::Node& node) { step.not_in_stdout = Texts(node); }},
      {"stderr", [](Step& step, const YAML::Node& node) { step.in_stderr = Texts(node); }},
      {"not_stderr", [](Step& step, const YAML::Node& node) { step.not_in_stderr = Texts(node); }},
      {"json", [](Step& step, const YAML::Node& node) { step.json = JsonChecks(node); }},
      {"json_files",
       [](Step& step, const YAML::Node& node) {
         for (const auto& entry : node) {
           step.json_files[entry.first.as<std::string>()] = JsonChecks(entry.second);
         }
       }},
      {"files", [](Step& step, const YAML::Node& node) { step.files = Texts(node); }},
      {"no_files", [](Step& step, const YAML::Node& node) { step.no_files = Texts(node); }},
      {"same_bytes", [](Step& step, const YAML::Node& node) { step.same_bytes = Pairs(node); }},
      {"different_bytes",
       [](Step& step, const YAML::Node& node) { step.different_bytes = Pairs(node); }},
  };
  return kKeys;
}

void SetKey(const Origin& origin, const std::string& key, const YAML::Node& value, Step& step) {
  const auto known = StepKeys().find(key);
  if (known == StepKeys().end()) {
    Refuse(origin, value, fmt::format("a step has no key '{}'", key));
  }
  try {
    known->second(step, value);
  } catch (const YAML::RepresentationException&) {
    Refuse(origin, value, fmt::format("'{}' of a step cannot be this", key));
  }
}

Step ParseStep(const Origin& origin, const YAML::Node& node) {
  if (!node.IsMap()) Refuse(origin, node, "a step is a map: {command: ...}");
  Step step;
  step.line = origin.first_line + node.Mark().line;
  for (const auto& entry : node) {
    const auto key = entry.first.as<std::string>();
    if (key == "signal") {
      step.signal = Signal(origin, entry.second);
    } else {
      SetKey(origin, key, entry.second, step);
    }
  }
  const int actions = !!node["command"] + !!node["shell"] + !!node["write"] + !!node["flip"];
  if (actions != 1) Refuse(origin, node, "a step has one of 'command', 'shell', 'write', 'flip'");
  step.script = WithJob(step.script, origin.file);
  if (node["command"]) {
    if (auto words = PlainWords(step.script)) step.words = std::move(*words);
    step.script = "exec " + step.script;
  }
  return step;
}

// Whether a document has only x-* keys.
bool IsWithoutJob(const YAML::Node& document) {
  return std::all_of(document.begin(), document.end(), [](const auto& entry) {
    return entry.first.template as<std::string>().starts_with("x-");
  });
}

JobCase ParseCase(const Origin& origin, const std::string& text, const YAML::Node& document) {
  JobCase result{.name = origin.file,
                 .file = origin.file,
                 .job = text,
                 .suite = "quick",
                 .needs = {},
                 .steps = {}};
  if (!document.IsMap() || !document["x-expect"]) {
    Refuse(origin, document, "a case needs 'x-expect' at its top level");
  }
  if (const YAML::Node claim = document["x-case"]) {
    result.name += ": " + claim.as<std::string>();
  }
  if (const YAML::Node suite = document["x-suite"]) {
    const auto name = suite.as<std::string>();
    if (name != "all" && name != "bench") Refuse(origin, suite, "x-suite is all or bench");
    result.suite = name;
  }
  if (const YAML::Node needs = document["x-needs"]) result.needs = needs.as<std::string>();
  const YAML::Node steps = document["x-expect"];
  if (!steps.IsSequence() || steps.size() == 0) {
    Refuse(origin, steps, "x-expect is a list of at least one step");
  }
  for (const YAML::Node& step : steps) result.steps.push_back(ParseStep(origin, step));
  return result;
}

struct Document {
  int first_line;
  std::string text;
};

// Splits documents here and not in yaml-cpp, so that each keeps its text.
std::vector<Document> Documents(const std::string& text) {
  std::vector<Document> documents = {{1, ""}};
  std::istringstream in(text);
  int number = 0;
  for (std::string line; std::getline(in, line);) {
    ++number;
    if (line == "---") {
      documents.push_back({number + 1, ""});
    } else {
      documents.back().text += line + "\n";
    }
  }
  return documents;
}

}  // namespace

std::vector<JobCase> ParseCases(const std::string& file, const std::string& text) {
  std::vector<JobCase> cases;
  for (const Document& document : Documents(text)) {
    const Origin origin{file, document.first_line};
    try {
      const YAML::Node node = YAML::Load(document.text);
      if (!node.IsDefined() || node.IsNull()) continue;
      JobCase job_case = ParseCase(origin, document.text, node);
      if (IsWithoutJob(node) && !cases.empty()) job_case.job = cases.back().job;
      cases.push_back(std::move(job_case));
    } catch (const YAML::ParserException& fault) {
      throw Error(Code::kUsage,
                  fmt::format("{}:{}: {}", file, origin.first_line + fault.mark.line, fault.msg));
    }
  }
  if (cases.empty()) throw Error(Code::kUsage, fmt::format("{}: holds no case", file));
  return cases;
}

}  // namespace tpuest
