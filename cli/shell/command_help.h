#pragma once
// Help texts of the commands: `tpuest --help`, `tpuest COMMAND --help`, their man pages.

#include <string>
#include <vector>

#include "cli/shell/command.h"
#include "cli/shell/document.h"

namespace tpuest::cli {

// A flag and its help text.
struct FlagWords {
  std::vector<std::string> names;  // "-q", "--quiet"
  std::string shown;               // "DIR", "text|tf|json"; "" for a flag without a value
  std::string help;
  std::string group;  // its heading; "" for a flag of this command only
};
// Returns the command's own flags with --help, then those that every command takes.
[[nodiscard]] std::vector<FlagWords> FlagsOf(const Command& command);

// "`-q, --quiet`", "`--model-dir DIR`".
[[nodiscard]] std::string TermOf(const FlagWords& flag);
// Lists all of these flags under their headings, as man pages do.
[[nodiscard]] Document FlagsDocument(const Command& command);

// "train [JOB.yaml] [KEY=VALUE ...] [flags]".
[[nodiscard]] std::string UsageOf(const Command& command);

// Returns examples, summary, usage and the command's own flags; names the shared flags.
[[nodiscard]] Document HelpOf(const Command& command);
// Returns the help of the program: its commands by group, and the flags that they share.
[[nodiscard]] Document HelpOf(const std::vector<Command>& commands);

}  // namespace tpuest::cli
