#pragma once
// Runs a program or a shell script in its own process group, keeps its output and limits its time.

#include <functional>
#include <map>
#include <string>
#include <vector>

namespace tpuest {

struct ProcessRequest {
  std::string program;             // the path of its file
  std::vector<std::string> words;  // its name and arguments
  std::string folder;              // the working directory
  std::string output_folder;       // folder for the files of stdin, stdout and stderr
  std::map<std::string, std::string> environment;  // the whole environment: nothing is inherited
  std::string input;
  double limit_s = 1200;
  // `signal` is sent once to the whole group, as soon as is_due returns true for stderr so far; 0:
  // never.
  int signal = 0;
  std::function<bool(const std::string&)> is_due;
};

struct ProcessResult {
  int code = 0;  // exit code; 128 + n after signal n, as in a shell
  bool is_over_limit = false;
  bool was_signalled = false;
  std::string out;
  std::string err;
};

// Waits for the end of the program, or kills it after limit_s seconds. No process of the group
// outlives the call.
[[nodiscard]] ProcessResult RunProcess(const ProcessRequest& request);

}  // namespace tpuest
