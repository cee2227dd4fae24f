#pragma once
// Runs a program or a shell script in a process group of its own, with its output kept and its time
// limited.

#include <functional>
#include <map>
#include <string>
#include <vector>

namespace tpuest {

struct ProcessRequest {
  std::string program;             // the path of its file
  std::vector<std::string> words;  // its name and arguments
  std::string folder;              // the working directory
  std::string output_folder;       // folder in which stdin, stdout and stderr lie as files
  std::map<std::string, std::string> environment;  // the whole environment: nothing is inherited
  std::string input;
  double limit_s = 1200;
  // `signal` is sent once to the whole group, as soon as is_due holds for what stderr has so far;
  // 0: never.
  int signal = 0;
  std::function<bool(const std::string&)> is_due;
};

struct ProcessResult {
  int code = 0;  // exit code; 128 + n after signal n, as a shell has it
  bool is_over_limit = false;
  bool was_signalled = false;
  std::string out;
  std::string err;
};

// Waits for the end of the program, or kills it after limit_s seconds. Nothing of the group
// outlives the call.
[[nodiscard]] ProcessResult RunProcess(const ProcessRequest& request);

}  // namespace tpuest
