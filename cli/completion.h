#pragma once
// Completion: the words that may stand next on a command line, for shells.

#include <string>
#include <vector>

#include "cli/shell/command.h"

namespace tpuest::cli {

// Candidates for the last of `words`, which may be empty; the program's own name is not among
// `words`. They are commands, flags and their values, recipes, keys of the job or run that is named
// and the values that they may have, and the steps of its checkpoints. There are none where a file
// is to be named: shells know these. Never throws: of a job that cannot be read nothing is known.
[[nodiscard]] std::vector<std::string> Complete(const std::vector<std::string>& words);

// Splits a line into words as a shell does; the line may end in the middle of one.
[[nodiscard]] std::vector<std::string> ShellWords(const std::string& line);

// `tpuest completion SHELL`.
[[nodiscard]] Command CompletionCommand();

// `__complete --line LINE` or `__complete WORD...`: prints candidates on stdout, one a line, and
// returns the exit code, 0.
int PrintCompletions(const std::vector<std::string>& arguments);

}  // namespace tpuest::cli
