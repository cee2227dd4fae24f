#include "cli/completion.h"

#include <algorithm>
#include <cctype>
#include <map>
#include <memory>
#include <set>

#include "cli/commands.h"
#include "cli/completion_keys.h"
#include "cli/job/recipes.h"
#include "cli/run/record/folder.h"
#include "cli/run/session.h"
#include "cli/shell/command_help.h"
#include "core/base/process/files.h"
#include "core/base/text.h"
#include "core/estimator/model_dir/checkpoint_name.h"
#include "core/estimator/model_dir/model_dir.h"

namespace tpuest::cli {
namespace {

using Words = std::vector<std::string>;
using Candidates = std::vector<Candidate>;

Candidates Plain(const Words& words) {
  Candidates candidates;
  for (const std::string& word : words) candidates.push_back({word, ""});
  return candidates;
}

// A flag, and the words that may follow it.
struct Flag {
  bool takes_value = false;
  bool takes_key = false;  // its value is KEY=..., a key of the job
  Words values;            // empty: anything
  std::string help;
};

// The words that a help text allows: three of "text|tf|json"; none of "FILE|-", because a shell
// knows files better.
Words ChoicesOf(const std::string& shown) {
  const bool has_names =
      std::any_of(shown.begin(), shown.end(), [](unsigned char c) { return std::isupper(c) != 0; });
  Words choices;
  for (const std::string& word : Split(shown, '|')) {
    const bool is_word =
        !word.empty() && std::none_of(word.begin(), word.end(), [](unsigned char c) {
          return std::isupper(c) != 0 || c == ':';
        });
    if (is_word && (!has_names || word.size() > 1)) choices.push_back(word);
  }
  return shown.find('|') == std::string::npos ? Words() : choices;
}

std::map<std::string, Flag> NamedFlags(const Command& command) {
  std::map<std::string, Flag> flags;
  for (const FlagWords& words : FlagsOf(command)) {
    const Flag flag{!words.shown.empty(), words.shown.starts_with("KEY="), ChoicesOf(words.shown),
                    words.help};
    for (const std::string& name : words.names) flags[name] = flag;
  }
  return flags;
}

// The part of the line before the word that is completed.
struct Line {
  const Command* command = nullptr;
  std::string subject;
  std::string job;
  std::string folder;     // the value of -C
  std::string model_dir;  // the value of --model-dir
  std::string run;        // a run or one of its checkpoints, named in the job's place
  std::string flag;       // the last word, if it is a flag that waits for its value

  // A path as -C has it: from that folder on.
  [[nodiscard]] std::string Path(const std::string& path) const {
    return folder.empty() || path.empty() || path.starts_with('/') ? path : JoinPath(folder, path);
  }
  // The job file; without one the job that a run keeps. Empty: the line names neither.
  [[nodiscard]] std::string JobPath() const {
    if (!job.empty()) return Path(job);
    const std::string& named = run.empty() ? model_dir : run;
    return named.empty() ? "" : ResolvedJobPath(ModelDirOf(Path(named)));
  }
};

void ReadValue(const std::string& flag, const std::string& value, Line& line) {
  if (flag == "-C") line.folder = value;
  if (flag == "--model-dir") line.model_dir = value;
  // A step, latest and best mean checkpoints of the run that is named otherwise.
  if (flag == "--checkpoint" && FileExists(ResolvedJobPath(ModelDirOf(line.Path(value))))) {
    line.run = value;
  }
}

Line Read(const Words& words) {
  Line line;
  std::map<std::string, Flag> flags;
  for (size_t i = 0; i + 1 < words.size(); ++i) {
    const std::string& word = words[i];
    if (!line.flag.empty()) {
      ReadValue(line.flag, word, line);
      line.flag.clear();
    } else if (word.starts_with('-')) {
      const auto flag = flags.find(word);
      if (flag != flags.end() && flag->second.takes_value) line.flag = word;
    } else if (line.command == nullptr) {
      line.command =
          FindCommand(Commands(), word == "train_and_evaluate" ? "train-and-evaluate" : word);
      if (line.command == nullptr) return line;
      flags = NamedFlags(*line.command);
    } else if (line.command->takes == Takes::kRun) {
      if (line.run.empty()) line.run = word;
    } else if (line.job.empty() && IsJobFile(word)) {
      line.job = word;
    } else if (line.subject.empty()) {
      line.subject = word;
    }
  }
  return line;
}

// The folder whose checkpoints a flag names.
std::string RunOf(const Line& line) {
  if (!line.model_dir.empty()) return line.Path(line.model_dir);
  if (!line.run.empty()) return ModelDirOf(line.Path(line.run));
  if (line.job.empty()) return "";
  const std::optional<std::string> model_dir = WrittenModelDir(line.JobPath());
  return model_dir ? line.Path(*model_dir) : "";
}

Words StepsOf(const Line& line) {
  Words steps;
  const std::string folder = RunOf(line);
  if (folder.empty()) return steps;
  for (const auto& [step, prefix] : CheckpointsIn(folder)) steps.push_back(std::to_string(step));
  return steps;
}

Words CheckpointsOf(const Line& line) {
  Words steps = StepsOf(line);
  if (steps.empty()) return {};
  steps.insert(steps.end(), {std::string(kLatest), std::string(kBestState)});
  if (line.command->name == "evaluate") steps.emplace_back(kAllCheckpoints);
  return steps;
}

Candidates Overrides(const Line& line, const std::string& word) {
  const size_t equals = word.find('=');
  Candidates candidates;
  if (equals != std::string::npos) {
    const bool appends = equals > 0 && word[equals - 1] == '+';
    for (const std::string& value : KeyValues(word.substr(0, equals - (appends ? 1 : 0)))) {
      candidates.push_back({word.substr(0, equals + 1) + value, ""});
    }
    return candidates;
  }
  const bool removes = word.starts_with('~');
  for (const auto& [key, help] : JobKeys(line.JobPath())) {
    candidates.push_back({removes ? "~" + key : key + "=", help});
  }
  return candidates;
}

Candidates FlagValues(const Line& line, const std::string& word) {
  if (line.flag == "--checkpoint") return Plain(CheckpointsOf(line));
  const Flag flag = NamedFlags(*line.command).at(line.flag);
  if (flag.takes_key) return Overrides(line, word);
  Words values = flag.values;
  if (line.flag == "--from" && line.command->takes == Takes::kRun) {
    const Words steps = StepsOf(line);
    values.insert(values.begin(), steps.begin(), steps.end());
  }
  return Plain(values);
}

Candidates CandidatesFor(const Line& line, const std::string& word) {
  Candidates candidates;
  if (line.command == nullptr) {
    for (const Command& command : Commands()) {
      candidates.push_back({std::string(command.name), std::string(command.summary)});
    }
    return candidates;
  }
  if (!line.flag.empty()) return FlagValues(line, word);
  if (word.starts_with('-')) {
    for (const auto& [name, flag] : NamedFlags(*line.command)) {
      candidates.push_back({name, flag.help});
    }
    return candidates;
  }
  if (line.subject.empty() && line.job.empty()) {
    for (const Subject& subject : line.command->subjects) {
      candidates.push_back({std::string(subject.name), ""});
    }
  }
  if (line.command->name == "cp" && line.subject.empty()) {
    for (const Recipe& recipe : Recipes()) candidates.push_back({recipe.name, recipe.summary});
  }
  if (line.command->takes == Takes::kWords) return Plain(HelpWords());
  const bool takes_keys = line.command->takes == Takes::kJob || line.command->takes == Takes::kRun;
  if (takes_keys && !line.JobPath().empty()) {
    const Candidates overrides = Overrides(line, word);
    candidates.insert(candidates.end(), overrides.begin(), overrides.end());
  }
  return candidates;
}

}  // namespace

std::vector<Candidate> Complete(const std::vector<std::string>& words) {
  if (words.empty()) return {};
  const std::string& word = words.back();
  Candidates candidates = CandidatesFor(Read(words), word);
  std::erase_if(candidates,
                [&](const Candidate& candidate) { return !candidate.word.starts_with(word); });
  return candidates;
}

std::vector<std::string> ShellWords(const std::string& line) {
  Words words = {""};
  char quote = 0;
  for (size_t i = 0; i < line.size(); ++i) {
    const char c = line[i];
    if (quote != 0 && c == quote) {
      quote = 0;
    } else if (quote == 0 && (c == '"' || c == '\'')) {
      quote = c;
    } else if (c == '\\' && quote != '\'' && i + 1 < line.size()) {
      words.back() += line[++i];
    } else if (quote == 0 && (c == ' ' || c == '\t')) {
      if (!words.back().empty()) words.emplace_back();
    } else {
      words.back() += c;
    }
  }
  return words;
}

int PrintCompletions(const std::vector<std::string>& arguments) {
  const bool is_line = arguments.size() == 2 && arguments[0] == "--line";
  const bool has_about = !arguments.empty() && arguments[0] == "--about";
  Words words = is_line ? ShellWords(arguments[1]) : arguments;
  if (is_line || has_about) words.erase(words.begin());  // the program's name, --about
  for (const Candidate& candidate : Complete(words)) {
    const bool says = has_about && !candidate.about.empty();
    fmt::print("{}{}{}\n", candidate.word, says ? "\t" : "", says ? candidate.about : "");
  }
  return 0;
}

}  // namespace tpuest::cli
