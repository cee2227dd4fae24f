#pragma once
// What may stand next on a command line, for shells.

#include <string>
#include <vector>

#include "cli/shell/command.h"

namespace tpuest::cli {

// Candidates for the last of the words, which may be empty; the program's own name is not among
// them. Commands, flags and their values, recipes, keys of the job that is named, or of the run's,
// and what they may be, and the steps of its checkpoints. None where a file is to be named: shells
// know these. Never fails: of a job that cannot be read nothing is known.
[[nodiscard]] std::vector<std::string> Complete(const std::vector<std::string>& words);

// The words of a line that may end in the middle of one, as a shell splits it.
[[nodiscard]] std::vector<std::string> ShellWords(const std::string& line);

// `tpuest completion SHELL`.
[[nodiscard]] Command CompletionCommand();

// `__complete --line LINE` or `__complete WORD...`: prints candidates, one a line.
int PrintCompletions(const std::vector<std::string>& arguments);

}  // namespace tpuest::cli
