#include "cli/invocation.h"

#include <CLI/CLI.hpp>
#include <cstdio>
#include <map>

#include "cli/version.h"
#include "core/base/error.h"
#include "core/base/text.h"

namespace tpuest::cli {
namespace {

constexpr const char* kRunGroup = "Run";

void AddGlobalFlags(CLI::App& app, Invocation& to) {
  static const std::map<std::string, Toggle> kToggles = {
      {"auto", Toggle::kAuto}, {"always", Toggle::kAlways}, {"never", Toggle::kNever}};
  static const std::map<std::string, Toggle> kOnOff = {
      {"auto", Toggle::kAuto}, {"on", Toggle::kAlways}, {"off", Toggle::kNever}};
  static const std::map<std::string, LogFormat> kFormats = {
      {"text", LogFormat::kText}, {"tf", LogFormat::kTensorFlow}, {"json", LogFormat::kJson}};
  app.add_option("--model-dir", to.model_dir, "the run's folder (run_config.model_dir)")
      ->group(kRunGroup);
  app.add_flag("--json", to.json, "the result as one JSON document on stdout")->group("Output");
  app.add_option("--log-format", to.log_format, "text, tf (TensorFlow's lines) or json")
      ->transform(CLI::CheckedTransformer(kFormats))
      ->option_text("text|tf|json")
      ->group("Output");
  app.add_flag("-q,--quiet", to.quiet, "warnings and errors only")->group("Output");
  app.add_flag("-v,--verbose", to.verbose, "details too")->group("Output");
  app.add_option("--color", to.color, "colours on stderr")
      ->transform(CLI::CheckedTransformer(kToggles))
      ->option_text("auto|always|never")
      ->group("Output");
  app.add_option("--progress", to.progress, "a status line on stderr")
      ->transform(CLI::CheckedTransformer(kOnOff))
      ->option_text("auto|on|off")
      ->group("Output");
  app.add_option("-C", to.directory, "change to this folder first")
      ->option_text("DIR")
      ->group(kRunGroup);
  app.add_option("--threads", to.threads, "step threads; the bits do not depend on it")
      ->check(CLI::Range(1, 1024))
      ->option_text("N")
      ->group(kRunGroup);
  app.add_option("--device", to.device, "cpu")
      ->check(CLI::IsMember({"cpu"}))
      ->option_text("cpu")
      ->group(kRunGroup);
}

void AddOwnFlags(CLI::App& app, std::string_view command, Invocation& to) {
  const bool evaluate = command == "evaluate" || command == "run";
  const bool predict = command == "predict" || command == "run";
  if (evaluate || predict) {
    app.add_option("--checkpoint", to.checkpoint,
                   "a prefix, a step, a model_dir or latest; the job may then be left out")
        ->option_text("PATH|STEP|latest");
  }
  if (evaluate) app.add_option("--name", to.name, "events go to eval_NAME/")->option_text("NAME");
  if (predict) {
    app.add_option("--output", to.output, "where the predictions go; -: stdout")
        ->option_text("FILE|-");
    app.add_option("--format", to.format, "jsonl or csv")
        ->check(CLI::IsMember({"jsonl", "csv"}))
        ->option_text("jsonl|csv");
    app.add_option("--limit", to.limit, "rows")->check(CLI::NonNegativeNumber)->option_text("N");
  }
  if (command == "config") app.add_flag("--full", to.full, "every value, with its origin");
  if (command == "inspect") {
    app.add_option("--value", to.value, "print this variable's values")->option_text("NAME");
    app.add_option("--limit", to.limit, "records or events")->option_text("N");
  }
  if (command == "convert") {
    app.add_option("--images", to.images, "IDX file of images, plain or gz")->option_text("FILE");
    app.add_option("--labels", to.labels, "IDX file of labels, plain or gz")->option_text("FILE");
    app.add_option("--digits", to.digits, "so many drawn digits instead")->option_text("N");
    app.add_option("--seed", to.seed, "of the drawn digits")->option_text("N");
    app.add_option("--skip", to.skip, "records left out at the start")->option_text("N");
    app.add_option("--take", to.take, "records written")->option_text("N");
    app.add_option("--compression", to.compression, "of the TFRecord file")
        ->check(CLI::IsMember({"GZIP", "ZLIB"}))
        ->option_text("GZIP|ZLIB");
    app.add_option("--output", to.output, "the TFRecord file")->option_text("FILE");
  }
}

// "a.b=1", but not "dir/x=1".
bool IsOverride(const std::string& argument) {
  const size_t equals = argument.find('=');
  return equals != std::string::npos && equals > 0 && argument.find('/') > equals;
}

bool IsJobFile(const std::string& argument) {
  return EndsWith(argument, ".yaml") || EndsWith(argument, ".yml");
}

void SortArguments(const std::vector<std::string>& given, Invocation& to) {
  const bool has_subject = to.command == "config" || to.command == "ls";
  for (const std::string& argument : given) {
    if (IsOverride(argument)) {
      to.overrides.push_back(argument);
    } else if (has_subject && to.subject.empty()) {
      to.subject = argument;
    } else if (IsJobFile(argument) && !to.job && to.command != "inspect") {
      to.job = argument;
    } else {
      to.arguments.push_back(argument);
    }
  }
}

std::string ShellQuoted(const std::string& word) {
  static constexpr std::string_view kPlain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./=:,+@%";
  if (!word.empty() && word.find_first_not_of(kPlain) == std::string::npos) return word;
  std::string quoted = "'";
  for (const char c : word) quoted += c == '\'' ? "'\\''" : std::string(1, c);
  return quoted + "'";
}

void PrintHelp() {
  fmt::print(
      "tpuest trains, evaluates and predicts from a job file, in TensorFlow's formats.\n\n"
      "  tpuest train job.yaml                    train, or go on where the run stopped\n"
      "  tpuest train job.yaml train_batch_size=256 --model-dir runs/b256\n"
      "  tpuest evaluate --checkpoint runs/mnist  no job file is needed where a run exists\n\n"
      "usage: tpuest <command> [JOB.yaml] [KEY=VALUE ...] [flags]\n\n");
  for (const Command& command : Commands()) {
    fmt::print("  {:<10} {}\n", command.name, command.summary);
  }
  fmt::print("\n'tpuest <command> --help' shows an example and the command's flags.\n");
}

int UsageError(const std::string& message, const std::string& hint) {
  fmt::print(stderr, "tpuest: error: {}\n", message);
  if (!hint.empty()) fmt::print(stderr, "      = {}\n", hint);
  return static_cast<int>(Code::kUsage);
}

const Command* FindCommand(std::string_view name) {
  for (const Command& command : Commands()) {
    if (command.name == name) return &command;
  }
  return nullptr;
}

std::string UnknownCommandHint(const std::string& word) {
  if (IsJobFile(word)) return fmt::format("name a command first: tpuest train {}", word);
  std::vector<std::string> names;
  for (const Command& command : Commands()) names.emplace_back(command.name);
  const auto nearest = Nearest(word, names);
  return nearest ? fmt::format("did you mean 'tpuest {}'?", *nearest)
                 : "'tpuest --help' lists the commands";
}

// The first word that is no flag is the command; flags may stand before it.
int CommandIndex(int argc, const char* const* argv) {
  for (int i = 1; i < argc; ++i) {
    const std::string_view word = argv[i];
    const bool takes_value = word == "-C" || word == "--model-dir" || word == "--log-format" ||
                             word == "--color" || word == "--progress" || word == "--threads" ||
                             word == "--device";
    if (takes_value) ++i;
    if (!word.starts_with('-')) return i;
  }
  return argc;
}

}  // namespace

Parsed ParseCommandLine(int argc, const char* const* argv) {
  Parsed parsed;
  Invocation& to = parsed.invocation;
  const int at = CommandIndex(argc, argv);
  std::vector<std::string> words;
  for (int i = 1; i < argc; ++i) {
    if (i != at) words.emplace_back(argv[i]);
  }
  if (at == argc) {
    for (const std::string& word : words) {
      if (word == "--version") {
        fmt::print("tpuest {}\n", kVersion);
        parsed.exit_code = 0;
        return parsed;
      }
    }
    const bool asked = !words.empty() && (words[0] == "--help" || words[0] == "-h");
    PrintHelp();
    parsed.exit_code = asked || words.empty() ? 0 : static_cast<int>(Code::kUsage);
    return parsed;
  }
  to.command = argv[at];
  for (int i = 0; i < argc; ++i) {
    to.command_line += (i > 0 ? " " : "") + ShellQuoted(i == 0 ? "tpuest" : argv[i]);
  }
  if (to.command == "help") {
    PrintHelp();
    parsed.exit_code = 0;
    return parsed;
  }
  parsed.command = FindCommand(to.command);
  if (parsed.command == nullptr) {
    parsed.exit_code = UsageError(fmt::format("there is no command '{}'", to.command),
                                  UnknownCommandHint(to.command));
    return parsed;
  }

  CLI::App app(fmt::format("{}\n\n  {}", parsed.command->summary, parsed.command->example),
               "tpuest " + to.command);
  app.get_formatter()->column_width(34);
  std::vector<std::string> given;
  app.add_option("arguments", given, "JOB.yaml, KEY=VALUE, ...")->option_text(" ");
  AddOwnFlags(app, to.command, to);
  AddGlobalFlags(app, to);
  try {
    std::vector<std::string> reversed(words.rbegin(), words.rend());
    app.parse(reversed);
  } catch (const CLI::CallForHelp&) {
    fmt::print("{}", app.help());
    parsed.exit_code = 0;
    return parsed;
  } catch (const CLI::ParseError& error) {
    parsed.exit_code =
        UsageError(error.what(), fmt::format("'tpuest {} --help' lists its flags", to.command));
    return parsed;
  }
  SortArguments(given, to);
  return parsed;
}

}  // namespace tpuest::cli
