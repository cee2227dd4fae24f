#pragma once
// A command of the program: its words in the help, its flags, the function that it runs.

#include <functional>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "cli/shell/flag_set.h"
#include "cli/shell/invocation.h"
#include "config/diagnostics.h"

namespace tpuest::cli {

// The words beside a command's flags. kJob: JOB.yaml and KEY=VALUE; kRun: a run's folder and
// KEY=VALUE; kPath, kPaths: files or folders; kWords: words of the manual.
enum class Takes { kJob, kRun, kPath, kPaths, kWords, kNothing };

// A word that may follow a command: `config show`.
struct Subject {
  Subject(const char* word) : name(word) {}  // NOLINT(google-explicit-constructor): a list of words
  Subject(const char* word, Takes what) : name(word), takes(what) {}
  std::string_view name;
  std::optional<Takes> takes = std::nullopt;  // nullopt: what its command takes
};

struct CommandWords {
  std::string_view name;
  std::string_view summary;                // one line of the list in --help
  std::vector<std::string_view> examples;  // shown first in the command's own help; one at least
  Takes takes = Takes::kJob;
  std::vector<Subject> subjects = {};  // words that may be the first word besides the flags
  bool needs_subject = false;
  std::string_view group = {};  // the heading of the list in --help
};

struct Command : CommandWords {
  // `make` creates an invocation of the command's own type, whose flags `declare` declares. `run`
  // takes only such an invocation, and returns the exit code; its errors are shown with the files
  // of `sources` (see guarded.h).
  std::function<std::unique_ptr<Invocation>()> make;
  std::function<void(FlagSet& flags, Invocation& to)> declare;
  std::function<int(const Invocation& invocation, config::Sources& sources)> run;
};

// A command whose invocations are of type T, an Invocation with its flags.
template <class T>
[[nodiscard]] Command MakeCommand(CommandWords words, void (*declare)(FlagSet& flags, T& to),
                                  int (*run)(const T& invocation, config::Sources& sources)) {
  Command command{std::move(words), {}, {}, {}};
  command.make = [] { return std::make_unique<T>(); };
  command.declare = [declare](FlagSet& flags, Invocation& to) {
    declare(flags, static_cast<T&>(to));
  };
  command.run = [run](const Invocation& invocation, config::Sources& sources) {
    return run(static_cast<const T&>(invocation), sources);
  };
  return command;
}
// A command without flags of its own.
[[nodiscard]] inline Command MakeCommand(CommandWords words,
                                         int (*run)(const Invocation& invocation,
                                                    config::Sources& sources)) {
  return MakeCommand<Invocation>(
      std::move(words), [](FlagSet&, Invocation&) {}, run);
}

// Returns a copy of the invocation as T, another command's, with the flags of that command at their
// defaults.
template <class T>
[[nodiscard]] T InvocationWith(const Invocation& invocation) {
  T result;
  static_cast<Invocation&>(result) = invocation;
  return result;
}

// Returns the command of this name, pointing into `commands`; nullptr if none has it.
[[nodiscard]] const Command* FindCommand(const std::vector<Command>& commands,
                                         std::string_view name);

}  // namespace tpuest::cli
