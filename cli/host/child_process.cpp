#include "cli/host/child_process.h"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>

#include "core/base/error.h"

namespace tpuest::cli {
namespace {

constexpr int kNotStarted = 127;

struct Opened {
  int input;
  int log;
};

Opened Open(const std::string& log_path) {
  const Opened opened{::open("/dev/null", O_RDONLY | O_CLOEXEC),
                      ::open(log_path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644)};
  if (opened.log >= 0 && opened.input >= 0) return opened;
  throw Error(Code::kUsage, fmt::format("{}: cannot be written ({})", log_path, strerror(errno)));
}

// In the child: only calls that are safe between fork and exec.
[[noreturn]] void Become(char* const* argv, const Opened& opened, pid_t parent) {
  setpgid(0, 0);
  prctl(PR_SET_PDEATHSIG, SIGTERM);
  if (getppid() != parent) _exit(kNotStarted);  // died before it could be told
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  dup2(opened.input, STDIN_FILENO);
  dup2(opened.log, STDOUT_FILENO);
  dup2(opened.log, STDERR_FILENO);
  execv("/proc/self/exe", argv);
  _exit(kNotStarted);
}

}  // namespace

pid_t StartChild(const std::vector<std::string>& words, const std::string& log_path) {
  std::vector<std::string> all = {"tpuest"};
  all.insert(all.end(), words.begin(), words.end());
  std::vector<char*> argv;
  for (std::string& word : all) argv.push_back(word.data());
  argv.push_back(nullptr);
  const Opened opened = Open(log_path);
  const pid_t parent = getpid();
  const pid_t child = fork();
  if (child == 0) Become(argv.data(), opened, parent);
  const int number = errno;
  close(opened.input);
  close(opened.log);
  if (child < 0) {
    throw Error(Code::kResource, fmt::format("the machine refused a process: {}", strerror(number)),
                "--jobs N asks for fewer");
  }
  setpgid(child, child);  // here too: a signal may be passed on before the child has come to it
  return child;
}

int ExitCodeOf(int wait_status) {
  constexpr int kSignalled = 128;
  return WIFSIGNALED(wait_status) ? kSignalled + WTERMSIG(wait_status) : WEXITSTATUS(wait_status);
}

}  // namespace tpuest::cli
