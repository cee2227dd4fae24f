#pragma once
// Completion: the words that may stand next on a command line, for shells.

#include <string>
#include <vector>

#include "cli/shell/command.h"

namespace tpuest::cli {

// A word that may stand there.
struct Candidate {
  std::string word;
  std::string about;  // a phrase; "" where there is nothing to say
};

// Candidates for the last of `words`, which may be empty; the program's own name is not among
// `words`. They are commands, flags and their values, recipes, words of the manual, keys of the job
// or run that is named and the values that they may have, and the steps of its checkpoints. There
// are none where a file is to be named: shells know these. Never throws: of a job that cannot be
// read nothing is known.
[[nodiscard]] std::vector<Candidate> Complete(const std::vector<std::string>& words);

// Splits a line into words as a shell does; the line may end in the middle of one.
[[nodiscard]] std::vector<std::string> ShellWords(const std::string& line);

// `tpuest completion SHELL`.
[[nodiscard]] Command CompletionCommand();

// `__complete --line LINE`, `__complete --about WORD...` or `__complete WORD...`: prints candidates
// on stdout, one a line, with --about a tab and what there is to say behind it, and returns the
// exit code, 0.
int PrintCompletions(const std::vector<std::string>& arguments);

}  // namespace tpuest::cli
