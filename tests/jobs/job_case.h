#pragma once
// A whole-program test as it stands in its file; run_jobs.cpp describes the format.

#include <yaml-cpp/yaml.h>

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace tpuest {

// A signal that is sent to a step once its stderr holds a text or a file is there.
struct SignalPlan {
  int signal = 0;
  std::string after;       // text in stderr; empty if after_file is given
  std::string after_file;  // glob of a file in the case's folder
};

// A claim about a value of a JSON document; the path leads to the value.
struct JsonCheck {
  std::string path;
  YAML::Node expected;  // a value, a list, or a map of conditions
};

struct Step {
  int line = 0;                    // line of the case file, counted from 1
  std::string script;              // script that bash runs; empty if the step works on a file
  std::vector<std::string> words;  // the same as the words of a program, where it needs no shell
  std::string write, text;         // a file to write instead
  std::string flip;                // a file one of whose bytes is inverted instead
  int64_t at = 0;                  // offset of that byte; from the end if negative
  std::string input;               // stdin
  std::map<std::string, std::string> environment;
  int code = 0;
  double limit_s = 1200;  // against a step that hangs: loaded machines take their time
  std::optional<SignalPlan> signal;

  // Each is a substring, or an /extended regular expression/.
  std::vector<std::string> in_stdout, not_in_stdout, in_stderr, not_in_stderr;
  std::vector<JsonCheck> json;                               // claims about stdout
  std::map<std::string, std::vector<JsonCheck>> json_files;  // claims about files, by glob
  std::vector<std::string> files, no_files;                  // globs
  std::vector<std::pair<std::string, std::string>> same_bytes, different_bytes;  // pairs of globs
};

struct JobCase {
  std::string name;             // "digits.yaml", or "digits.yaml: a claim"
  std::string file;             // "digits.yaml": the job's name in the case's folder
  std::string job;              // the text of the document, x-expect and all
  std::string suite = "quick";  // or "all", "bench"
  std::string needs;  // a file of plugins ("cpu/xla_cpu_pjrt.so") or a program ("tar") without
                      // which the case is left out; may be empty
  std::vector<Step> steps;
};

// The cases of a file, one a YAML document. Throws Error with file and line for a key that does
// not exist, a step without an action, or a document without x-expect.
[[nodiscard]] std::vector<JobCase> ParseCases(const std::string& file, const std::string& text);

}  // namespace tpuest
