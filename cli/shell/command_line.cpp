#include "cli/shell/command_line.h"

#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <functional>
#include <set>

#include "cli/host/build_info.h"
#include "cli/shell/command_help.h"
#include "cli/shell/common_flags.h"
#include "cli/shell/report.h"
#include "cli/shell/terminal.h"
#include "core/base/error.h"
#include "core/base/path_scheme.h"
#include "core/base/process/files.h"
#include "core/base/text.h"

namespace tpuest::cli {
namespace {

// An override is "a.b=1", "a+=1" or "~a", but not "dir/x=1".
bool IsOverride(const std::string& argument) {
  if (argument.starts_with('~')) return argument.find('/') == std::string::npos;
  const size_t equals = argument.find('=');
  return equals != std::string::npos && equals > 0 && argument.find('/') > equals;
}

bool Holds(const std::vector<std::string>& words, std::string_view word) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

const Subject* FindSubject(const Command& command, std::string_view word) {
  for (const Subject& subject : command.subjects) {
    if (subject.name == word) return &subject;
  }
  return nullptr;
}

void SortArguments(const std::vector<std::string>& given, const Command& command, Invocation& to) {
  Takes takes = command.takes;
  for (const std::string& argument : given) {
    const bool may_be_subject = to.subject.empty() && to.arguments.empty();
    if ((takes == Takes::kJob || takes == Takes::kRun) && IsOverride(argument)) {
      to.overrides.push_back(argument);
    } else if (takes == Takes::kJob && IsJobFile(argument) && !to.job) {
      to.job = argument;
    } else if (may_be_subject &&
               (command.needs_subject || FindSubject(command, argument) != nullptr)) {
      to.subject = argument;
      const Subject* const subject = FindSubject(command, argument);
      if (subject != nullptr) takes = subject->takes.value_or(takes);
    } else {
      to.arguments.push_back(argument);
    }
  }
}

// The subject that was meant by a word that is none, nor a file: `bench stp`.
std::optional<std::string> MeantSubject(const Command& command, const Invocation& to) {
  if (command.subjects.empty() || (to.subject.empty() && to.arguments.empty())) return std::nullopt;
  const std::string& word = to.subject.empty() ? to.arguments[0] : to.subject;
  const bool is_subject = FindSubject(command, word) != nullptr;
  if (is_subject || FileExists(word) || DirectoryExists(word)) return std::nullopt;
  std::vector<std::string> names;
  for (const Subject& subject : command.subjects) {
    if (word.starts_with(subject.name.front())) names.emplace_back(subject.name);
  }
  return Nearest(word, names);
}

std::string ShellQuoted(const std::string& word) {
  static constexpr std::string_view kPlain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./=:,+@%";
  if (!word.empty() && word.find_first_not_of(kPlain) == std::string::npos) return word;
  std::string quoted = "'";
  for (const char c : word) quoted += c == '\'' ? "'\\''" : std::string(1, c);
  return quoted + "'";
}

void PrintHelp(const Document& help) {
  fmt::print("{}", PlainText(help, TerminalColumns(STDOUT_FILENO)));
}

// An error of the command line is also printed as a document if it has --json.
int UsageError(const std::vector<std::string>& words, const std::string& message,
               const std::string& hint) {
  if (Holds(words, "--json")) PrintError(Code::kUsage, {{message, hint, "", {}, 0}});
  fmt::print(stderr, "error: {}\n", message);
  if (!hint.empty()) fmt::print(stderr, "      = {}\n", hint);
  return static_cast<int>(Code::kUsage);
}

std::string UnknownCommandHint(const std::vector<Command>& commands, const std::string& word) {
  if (IsJobFile(word)) return fmt::format("name a command first: tpuest train {}", word);
  std::vector<std::string> names;
  for (const Command& command : commands) names.emplace_back(command.name);
  const auto nearest = Nearest(word, names);
  return nearest ? fmt::format("did you mean 'tpuest {}'?", *nearest)
                 : "'tpuest --help' lists the commands";
}

// TensorFlow's train_and_evaluate is also a name of a command.
std::string CanonicalName(std::string_view word) {
  return word == "train_and_evaluate" ? "train-and-evaluate" : std::string(word);
}

// The common flags that take a value: "--threads", "-C". The word behind one is no command.
std::set<std::string, std::less<>> CommonFlagsWithValue() {
  CLI::App app;
  Invocation unused;
  FlagSet flags(app);
  DeclareCommonFlags(flags, unused);
  std::set<std::string, std::less<>> names;
  for (const CLI::Option* const option : app.get_options()) {
    if (option->get_items_expected_max() == 0) continue;
    for (const std::string& name : option->get_lnames()) names.insert("--" + name);
    for (const std::string& name : option->get_snames()) names.insert("-" + name);
  }
  return names;
}

// The index of the command's word; argc: there is none. Common flags may precede it. Where other
// flags stand first, it is the first word that names a command, or else the first that is no flag.
int CommandIndex(const std::vector<Command>& commands, int argc, const char* const* argv) {
  std::set<std::string, std::less<>> with_value;
  int first = argc;
  for (int i = 1; i < argc; ++i) {
    const std::string_view word = argv[i];
    if (word.starts_with('-')) {
      if (with_value.empty()) with_value = CommonFlagsWithValue();
      if (with_value.contains(word)) ++i;
      continue;
    }
    const bool is_command = FindCommand(commands, CanonicalName(word)) != nullptr;
    if (i == 1 || is_command) return i;
    first = std::min(first, i);
  }
  return first;
}

// Answers a command line without a command: version, help, or a usage error.
int SayWhatThereIs(const std::vector<Command>& commands, const std::vector<std::string>& words) {
  if (Holds(words, "--version")) {
    fmt::print("tpuest {}\n", ThisBuild().version);
    return 0;
  }
  const bool asked = words.empty() || Holds(words, "--help") || Holds(words, "-h");
  if (!asked) return UsageError(words, "a command is missing", "'tpuest --help' lists them");
  PrintHelp(HelpOf(commands));
  return 0;
}

// The flags of `app` in words of the command line: "--json", "-q".
std::vector<std::string> FlagsOf(const CLI::App& app) {
  std::vector<std::string> flags;
  for (const CLI::Option* const option : app.get_options()) {
    for (const std::string& name : option->get_lnames()) flags.push_back("--" + name);
    for (const std::string& name : option->get_snames()) flags.push_back("-" + name);
  }
  return flags;
}

// "max_steps=10" for `--max-steps 10` and `--max-steps=10`: keys of the job have no dashes.
std::string KeyOfFlag(const std::string& flag, const std::vector<std::string>& words) {
  const size_t equals = flag.find('=');
  std::string key = flag.substr(0, equals);
  key.erase(0, key.find_first_not_of('-'));
  std::replace(key.begin(), key.end(), '-', '_');
  if (equals != std::string::npos) return key + flag.substr(equals);
  const auto at = std::find(words.begin(), words.end(), flag);
  const bool has_value = at != words.end() && at + 1 != words.end() &&
                         !(at + 1)->starts_with("--") && !IsJobFile(*(at + 1));
  return key + "=" + (has_value ? *(at + 1) : "...");
}

// The way out of a flag that a command does not have.
std::string UnknownFlagHint(const Command& command, const std::vector<std::string>& flags,
                            const std::string& flag, const std::vector<std::string>& words) {
  if (const auto nearest = Nearest(flag.substr(0, flag.find('=')), flags)) {
    return fmt::format("did you mean '{}'?", *nearest);
  }
  std::string help = fmt::format("'tpuest {} --help' lists its flags", command.name);
  const bool has_keys = command.takes == Takes::kJob || command.takes == Takes::kRun;
  if (!has_keys || !flag.starts_with("--")) return help;
  return fmt::format("{}; a key of the job has no dashes: {}", help,
                     ShellQuoted(KeyOfFlag(flag, words)));
}

int FlagError(const CLI::ParseError& error, const Invocation& to,
              const std::vector<std::string>& words) {
  const std::string help = fmt::format("'tpuest {} --help' lists its flags", to.command);
  if (dynamic_cast<const CLI::ArgumentMismatch*>(&error) != nullptr) {
    const std::string message = error.what();
    if (const size_t at = message.find(" was given a disallowed"); at != std::string::npos) {
      return UsageError(words, fmt::format("--{} takes no value", message.substr(0, at)), help);
    }
    return UsageError(words, message.substr(0, message.find(':')) + ": its value is missing", help);
  }
  return UsageError(words, error.what(), help);
}

// The flag of `app` that has another flag instead of its value: `--input --json`.
std::optional<std::string> FlagWithoutValue(const CLI::App& app,
                                            const std::vector<std::string>& words) {
  for (size_t i = 0; i + 1 < words.size() && words[i] != "--"; ++i) {
    if (!words[i].starts_with('-') || !words[i + 1].starts_with("--")) continue;
    const CLI::Option* const flag = app.get_option_no_throw(words[i]);
    if (flag == nullptr || flag->get_items_expected_min() == 0) continue;
    if (app.get_option_no_throw(words[i + 1]) != nullptr) return words[i];
  }
  return std::nullopt;
}

// The first word beside the flags that is a path with a scheme.
std::optional<SchemeRefusal> RefusedWord(const Command& command, const Invocation& to) {
  if (command.takes == Takes::kWords || command.takes == Takes::kNothing) return std::nullopt;
  for (const std::string& word : to.arguments) {
    if (std::optional<SchemeRefusal> refusal = RefusalOfScheme(word)) return refusal;
  }
  return to.job ? RefusalOfScheme(*to.job) : std::nullopt;
}

// Reads the words beside the command; returns the exit code where they end the program.
std::optional<int> ReadWords(const Command& command, const std::vector<std::string>& words,
                             Invocation& to) {
  CLI::App app;
  app.allow_extras();
  std::vector<std::string> given;
  app.add_option("arguments", given);
  FlagSet flags(app);
  command.declare(flags, to);
  DeclareCommonFlags(flags, to);
  if (const auto flag = FlagWithoutValue(app, words)) {
    return UsageError(words, *flag + ": its value is missing",
                      fmt::format("'tpuest {} --help' lists its flags", to.command));
  }
  try {
    app.parse(std::vector<std::string>(words.rbegin(), words.rend()));
  } catch (const CLI::CallForHelp&) {
    PrintHelp(HelpOf(command));
    return 0;
  } catch (const CLI::ParseError& error) {
    return FlagError(error, to, words);
  } catch (const Error& error) {
    return UsageError(words, error.faults().front().message, error.faults().front().hint);
  }
  if (const std::vector<std::string> unknown = app.remaining(); !unknown.empty()) {
    const std::string flag = unknown[0].substr(0, unknown[0].find('='));
    return UsageError(words, fmt::format("'{}' has no flag '{}'", to.command, flag),
                      UnknownFlagHint(command, FlagsOf(app), unknown[0], words));
  }
  SortArguments(given, command, to);
  if (const std::optional<SchemeRefusal> refusal = RefusedWord(command, to)) {
    return UsageError(words, refusal->message, refusal->hint);
  }
  if (const auto subject = MeantSubject(command, to)) {
    return UsageError(words,
                      fmt::format("'{}' has no subcommand '{}'", to.command,
                                  to.subject.empty() ? to.arguments[0] : to.subject),
                      fmt::format("did you mean 'tpuest {} {}'?", to.command, *subject));
  }
  if (command.takes == Takes::kNothing && !to.arguments.empty()) {
    return UsageError(words, fmt::format("'{}' takes no '{}'", to.command, to.arguments[0]),
                      std::string(command.examples.front()));
  }
  return std::nullopt;
}

}  // namespace

const Command* FindCommand(const std::vector<Command>& commands, std::string_view name) {
  const auto found = std::find_if(commands.begin(), commands.end(),
                                  [&](const Command& command) { return command.name == name; });
  return found == commands.end() ? nullptr : &*found;
}

Parsed ParseCommandLine(const std::vector<Command>& commands, int argc, const char* const* argv) {
  Parsed parsed;
  const int at = CommandIndex(commands, argc, argv);
  std::vector<std::string> words;
  for (int i = 1; i < argc; ++i) {
    if (i != at) words.emplace_back(argv[i]);
  }
  if (at == argc) {
    parsed.exit_code = SayWhatThereIs(commands, words);
    return parsed;
  }
  const std::string name = CanonicalName(argv[at]);
  parsed.command = FindCommand(commands, name);
  if (parsed.command == nullptr) {
    parsed.exit_code = UsageError(words, fmt::format("unknown command '{}'", name),
                                  UnknownCommandHint(commands, name));
    return parsed;
  }
  parsed.invocation = parsed.command->make();
  Invocation& to = *parsed.invocation;
  to.command = name;
  to.command_line = "tpuest";
  for (int i = 1; i < argc; ++i) to.command_line += " " + ShellQuoted(argv[i]);
  parsed.exit_code = ReadWords(*parsed.command, words, to);
  return parsed;
}

}  // namespace tpuest::cli
