#pragma once
// What the help says of the commands: `tpuest --help`, `tpuest COMMAND --help`, their man pages.

#include <string>
#include <vector>

#include "cli/shell/command.h"
#include "cli/shell/document.h"

namespace tpuest::cli {

// A flag as it is written and told.
struct FlagWords {
  std::vector<std::string> names;  // "-q", "--quiet"
  std::string shown;               // "DIR", "text|tf|json"; "" for a flag without a value
  std::string help;
  std::string group;  // its heading; "" for a flag of the command's own
};
// The command's own flags, then those of all commands; --help is among them.
[[nodiscard]] std::vector<FlagWords> FlagsOf(const Command& command);

// "`-q, --quiet`", "`--model-dir DIR`".
[[nodiscard]] std::string TermOf(const FlagWords& flag);
// All of them under their headings.
[[nodiscard]] Document FlagsDocument(const Command& command);

// "train [JOB.yaml] [KEY=VALUE ...] [flags]".
[[nodiscard]] std::string UsageOf(const Command& command);

// What it does, examples, how it is called, its flags.
[[nodiscard]] Document HelpOf(const Command& command);
// The program, and its commands by what they are for.
[[nodiscard]] Document HelpOf(const std::vector<Command>& commands);

}  // namespace tpuest::cli
