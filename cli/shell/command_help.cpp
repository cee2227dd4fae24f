#include "cli/shell/command_help.h"

#include <CLI/CLI.hpp>

#include "cli/shell/common_flags.h"
#include "core/base/text.h"

namespace tpuest::cli {
namespace {

constexpr std::string_view TakenBy(Takes takes) {
  switch (takes) {
    case Takes::kJob:
      return " [JOB.yaml] [KEY=VALUE ...]";
    case Takes::kRun:
      return " RUN [KEY=VALUE ...]";
    case Takes::kPath:
      return " PATH";
    case Takes::kPaths:
      return " PATH...";
    case Takes::kWords:
      return " [WORD ...]";
    case Takes::kNothing:
      break;
  }
  return "";
}

}  // namespace

std::vector<FlagWords> FlagsOf(const Command& command) {
  CLI::App app;
  const std::unique_ptr<Invocation> unused = command.make();
  FlagSet set(app);
  command.declare(set, *unused);
  DeclareCommonFlags(set, *unused);
  std::vector<FlagWords> flags;
  for (const CLI::Option* const option : app.get_options()) {
    FlagWords flag;
    for (const std::string& name : option->get_snames()) flag.names.push_back("-" + name);
    for (const std::string& name : option->get_lnames()) flag.names.push_back("--" + name);
    if (option->get_items_expected_max() > 0) flag.shown = option->get_option_text();
    flag.help =
        option == app.get_help_ptr() ? "print this help and exit" : option->get_description();
    if (option->get_group() != "Options") flag.group = option->get_group();
    flags.push_back(std::move(flag));
  }
  return flags;
}

std::string TermOf(const FlagWords& flag) {
  return fmt::format("`{}`", Join(flag.names, ", ") + (flag.shown.empty() ? "" : " " + flag.shown));
}

Document FlagsDocument(const Command& command) {
  Document document;
  std::string group = "-";
  for (const FlagWords& flag : FlagsOf(command)) {
    if (flag.group != group) document.Heading(flag.group.empty() ? "Flags" : flag.group);
    group = flag.group;
    document.Item(TermOf(flag), flag.help);
  }
  return document;
}

std::string UsageOf(const Command& command) {
  return fmt::format("{}{} [flags]", command.name, TakenBy(command.takes));
}

Document HelpOf(const Command& command) {
  std::vector<std::string> examples(command.examples.begin(), command.examples.end());
  Document help;
  help.Code(Join(examples, "\n"))
      .Paragraph(std::string(command.summary))
      .Paragraph(fmt::format("usage: tpuest {}", UsageOf(command)))
      .Heading("Flags");
  std::vector<std::string> shared;
  for (const FlagWords& flag : FlagsOf(command)) {
    if (flag.group.empty()) {
      help.Item(TermOf(flag), flag.help);
    } else {
      shared.push_back(fmt::format("`{}`", flag.names.back()));
    }
  }
  help.Paragraph(fmt::format("Every command also takes {}; `tpuest --help` explains them.",
                             Join(shared, ", ")));
  return help;
}

Document HelpOf(const std::vector<Command>& commands) {
  Document help;
  help.Paragraph("tpuest trains, evaluates and predicts from a job file, in TensorFlow's formats.")
      .Code(
          "tpuest init first                        write a job to start from\n"
          "tpuest train first.yaml                  train, or resume where the run stopped\n"
          "tpuest train first.yaml train_batch_size=256 --model-dir runs/b256\n"
          "tpuest evaluate --checkpoint runs/first  evaluate a run; needs no job file")
      .Paragraph("usage: tpuest <command> [JOB.yaml] [KEY=VALUE ...] [flags]");
  std::string_view group;
  for (const Command& command : commands) {
    if (command.group != group) help.Heading(std::string(command.group));
    group = command.group;
    help.Item(std::string(command.name), std::string(command.summary));
  }
  help.Heading("Flags of every command");
  for (const FlagWords& flag : FlagsOf(commands.front())) {
    if (!flag.group.empty()) help.Item(TermOf(flag), flag.help);
  }
  help.Paragraph(
      "`tpuest COMMAND --help` shows examples and the flags of a command. `tpuest help WORD` "
      "explains a key of the job or a type: `tpuest help conv2d`, `tpuest help "
      "train_spec.max_steps`. `tpuest ls layers` lists the types of a kind.");
  return help;
}

}  // namespace tpuest::cli
