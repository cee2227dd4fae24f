#pragma once
// Prints faults as a compiler does:
//
//   job.yaml:14:5: error: unknown key 'itertions_per_loop' in run_config.tpu_config
//      14 |     itertions_per_loop: 100
//         |     ^^^^^^^^^^^^^^^^^^ did you mean 'iterations_per_loop'?
//   command line: error: expected an integer, found 'many'
//         | train_spec.max_steps=many
//         |                      ^^^^
//         = 'max_steps' takes a number of steps

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "config/tree.h"
#include "core/base/error.h"

namespace tpuest::config {

// The file name of `KEY=VALUE` arguments in messages.
inline constexpr std::string_view kCommandLine = "command line";

// Owns the texts that places point into, by file name, and the job whose keys faults name.
class Sources {
 public:
  // Stores a file's text, replacing an earlier text of the same name.
  void Add(const std::string& file, std::string_view text);
  // Adds an argument: a line of a "file" whose line numbers mean nothing to a reader ("command
  // line", "--model-dir"). Returns its number.
  int AddLine(const std::string& file, std::string_view line);
  // Returns the line (from 1) without its newline, or nullptr. Valid until the file changes.
  [[nodiscard]] const std::string* Line(const std::string& file, int line) const;

  // Returns true for a "file" that AddLine created.
  [[nodiscard]] bool HoldsArguments(const std::string& file) const;

  // Sets the job whose keys faults name: the job that was read last.
  void SetJob(const Tree& job) { job_ = job; }
  [[nodiscard]] const std::optional<Tree>& job() const { return job_; }

 private:
  struct Text {
    std::vector<std::string> lines;
    bool arguments = false;
  };
  std::map<std::string, Text> files_;
  std::optional<Tree> job_;
};

// Returns the error for printing: faults that name a key get its place in the job, and faults of a
// job (kUsage) are sorted by line, each once.
[[nodiscard]] Error Placed(const Error& error, const Sources& sources);

// The fault's text with a newline at the end. A hint that starts with "did you mean" follows the
// carets; any other hint has a separate line.
[[nodiscard]] std::string Render(const Fault& fault, const Sources& sources);
[[nodiscard]] std::string Render(const std::vector<Fault>& faults, const Sources& sources);

}  // namespace tpuest::config
