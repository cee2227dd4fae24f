#pragma once
// Completion for shells: the words that may come next on a command line.

#include <string>
#include <vector>

#include "cli/shell/command.h"

namespace tpuest::cli {

// A possible next word.
struct Candidate {
  std::string word;
  std::string about;  // a phrase; may be empty
};

// Candidates for the last of `words`, which may be empty; the program's own name is not among
// `words`. They are commands, flags and their values, recipes, words of the manual, keys of the
// named job or run and their values, and the steps of its checkpoints. Empty if a file is expected,
// because shells complete files. Never throws: a job that cannot be read gives no candidates.
[[nodiscard]] std::vector<Candidate> Complete(const std::vector<std::string>& words);

// Splits a line into words as a shell does; the line may end in the middle of one.
[[nodiscard]] std::vector<std::string> ShellWords(const std::string& line);

// `tpuest completion SHELL`.
[[nodiscard]] Command CompletionCommand();

// `__complete --line LINE`, `__complete --about WORD...` or `__complete WORD...`: prints candidates
// to stdout, one per line, with --about followed by a tab and a description, and returns the exit
// code, 0.
int PrintCompletions(const std::vector<std::string>& arguments);

}  // namespace tpuest::cli
