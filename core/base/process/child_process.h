#pragma once
// Starts all child processes: another program, or a function of this one that may abort or hang.

#include <sys/types.h>

#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace tpuest {

// A program and its arguments.
struct ProgramCall {
  std::vector<std::string> words;     // the program's argv: its name, then its arguments
  std::string program = words.at(0);  // a path, or a name that PATH finds
  // stdout and stderr are added to this file; nullopt: both go to this process's stderr.
  std::optional<std::string> log = std::nullopt;
  // A descriptor of this process that receives stdout; stderr is then this process's. -1: none.
  int output = -1;
  // stdout and stderr are this process's, whatever `log` says.
  bool speaks_for_itself = false;
  // "NAME=value" entries, added to this process's environment.
  std::vector<std::string> variables = {};
  std::string input = {};  // the whole standard input
  // stdout is kept for Output; stderr is unaffected.
  bool answers = false;
  // The child runs in its own process group and gets SIGTERM when the thread that started it ends.
  bool supervised = false;
  // The child runs in its own process group, which gets SIGTERM, and SIGKILL a second later, when
  // this process ends in any way. Any thread may start it.
  bool ends_with_us = false;
};

// The path for running this program again, even if its file has been replaced meanwhile.
[[nodiscard]] std::string ThisProgram();
// The path of this program's file; "" if it is not known.
[[nodiscard]] std::string ThisProgramFile();

struct ProcessEnd {
  int code = 0;    // exit code
  int signal = 0;  // the signal that ended it; 0: it exited

  // The exit code as a shell reports it: the code, or 128 + n for signal n.
  [[nodiscard]] int ShellCode() const;
};

// A running child. The destructor ends it and waits: with SIGTERM if it is supervised, so that it
// may save; with SIGTERM and then SIGKILL if `ends_with_us`; otherwise with SIGKILL. For one
// thread.
class ChildProcess {
 public:
  // Returns once the program runs. Throws kResource if it cannot be started, kUsage for a log that
  // cannot be written.
  explicit ChildProcess(const ProgramCall& call);
  // Runs the function in a fork of this process, which ends without destructors. No other thread
  // may run. Throws kResource if the system refuses.
  explicit ChildProcess(const std::function<std::string()>& question);
  ~ChildProcess();
  ChildProcess(ChildProcess&& other) noexcept;
  ChildProcess& operator=(ChildProcess&&) = delete;

  // The function's result, or the part of it that was sent before the child ended; nullopt if
  // nothing arrived within `deadline_secs`.
  [[nodiscard]] std::optional<std::string> Answer(double deadline_secs);
  // Sends a signal to the child, or to its process group if it has one.
  void Signal(int number) const;
  // The child's end; nullopt while it runs.
  [[nodiscard]] std::optional<ProcessEnd> Poll();
  // Waits for the child's end. Called once, and not after Poll has returned it.
  ProcessEnd Wait();
  // The same; passes the signal that `is_asked` returns on to the child.
  ProcessEnd Wait(const std::function<std::optional<int>()>& is_asked);
  // The stdout of a program with `answers`, after its end.
  [[nodiscard]] std::string Output() const;

 private:
  // Returns 0 if the child runs, otherwise errno.
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
