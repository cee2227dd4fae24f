#pragma once
// The one place where processes are started: another program, or a function of this one that may
// abort or hang.

#include <sys/types.h>

#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace tpuest {

// A program and its arguments.
struct ProgramCall {
  std::vector<std::string> words;     // as the program gets them: its name, then its arguments
  std::string program = words.at(0);  // a path, or a name that PATH finds
  // stdout and stderr are added to this file; nullopt: both go to this process's stderr.
  std::optional<std::string> log = std::nullopt;
  // A descriptor of this process that stdout goes to; stderr is this process's then. -1: none.
  int output = -1;
  // stdout and stderr are this process's, whatever `log` says.
  bool speaks_for_itself = false;
  // "NAME=value", which stand in its environment beside this process's.
  std::vector<std::string> variables = {};
  std::string input = {};  // all that its input has
  // stdout is kept for Output; stderr goes where it would.
  bool answers = false;
  // In a process group of its own, and sent SIGTERM when the thread that starts it ends.
  bool supervised = false;
  // In a process group of its own, which ends with this process, however that ends: SIGTERM, and
  // SIGKILL a second later. Any thread may start it.
  bool ends_with_us = false;
};

// This program again, also where its file has been replaced meanwhile.
[[nodiscard]] std::string ThisProgram();
// The path of its file; "" where that is not known.
[[nodiscard]] std::string ThisProgramFile();

struct ProcessEnd {
  int code = 0;    // that it left with
  int signal = 0;  // that ended it; 0: it left by itself

  // As a shell says it: the code, or 128 + n for signal n.
  [[nodiscard]] int ShellCode() const;
};

// A child that has been started. It does not outlive the object, which ends it and waits: with
// SIGTERM where it is supervised, so that it may save; with SIGTERM and then SIGKILL where it ends
// with this process; with SIGKILL otherwise. For one thread.
class ChildProcess {
 public:
  // Returns once the program runs. Error kResource where it cannot be started, kUsage for a log
  // that cannot be written.
  explicit ChildProcess(const ProgramCall& call);
  // Runs the function in a copy of this process, which ends without destructors. No thread may run
  // beside the caller. Error kResource where the machine refuses.
  explicit ChildProcess(const std::function<std::string()>& question);
  ~ChildProcess();
  ChildProcess(ChildProcess&& other) noexcept;
  ChildProcess& operator=(ChildProcess&&) = delete;

  // What the function returned, or as much as it could; nullopt: nothing within so long.
  [[nodiscard]] std::optional<std::string> Answer(double deadline_secs);
  // To its group where it has one.
  void Signal(int number) const;
  // Its end; nullopt: it has not come.
  [[nodiscard]] std::optional<ProcessEnd> Poll();
  // Once, unless Poll has had it.
  ProcessEnd Wait();
  // The same; once `is_asked` returns a signal, passes it on to the child.
  ProcessEnd Wait(const std::function<std::optional<int>()>& is_asked);
  // What a program that `answers` has written to stdout, once it has ended.
  [[nodiscard]] std::string Output() const;

 private:
  // The errno of a machine that refuses; 0: it runs.
  [[nodiscard]] int Start(const std::function<void(int to)>& body);
  void EndGroup();
  void StartKeeper();
  void DismissKeeper();

  pid_t pid_ = -1;   // -1: ended, or moved from
  int from_ = -1;    // where the child speaks
  int output_ = -1;  // what it writes to, where it answers
  bool has_group_ = false;
  bool ends_with_us_ = false;
  pid_t keeper_ = -1;   // ends the child's group after this process; -1: none
  int to_keeper_ = -1;  // closed by the end of this process
};

}  // namespace tpuest
