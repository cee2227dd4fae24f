#pragma once
// A whole-program test as its file describes it; run_jobs.cpp describes the format.

#include <yaml-cpp/yaml.h>

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace tpuest {

// A signal that is sent to a step once its stderr contains a text or a file exists.
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
  std::vector<std::string> words;  // the words of the program if the script needs no shell
  std::string write, text;         // a file to write instead
  std::string flip;                // a file one of whose bytes is inverted instead
  int64_t at = 0;                  // offset of that byte; from the end if negative
  std::string input;               // stdin
  std::map<std::string, std::string> environment;
  int code = 0;
  double limit_s = 1200;  // limits only steps that hang, because a loaded machine is slow
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
  std::string job;              // the text of the document, including x-expect
  std::string suite = "quick";  // or "all", "bench"
  std::string needs;  // a plugin's file ("cpu/xla_cpu_pjrt.so") or a program ("tar") without which
                      // the case is skipped; may be empty
  std::vector<Step> steps;
};

// The cases of a file, one per YAML document. Throws Error with file and line for an unknown key, a
// step without an action, or a document without x-expect.
[[nodiscard]] std::vector<JobCase> ParseCases(const std::string& file, const std::string& text);

}  // namespace tpuest
