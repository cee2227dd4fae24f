#include "tests/jobs/process.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <string_view>
#include <vector>

#include "core/base/error.h"
#include "core/base/process/files.h"

namespace tpuest {
namespace {

using Clock = std::chrono::steady_clock;

// Interval at which a step that waits for its signal is checked.
constexpr int kLookMs = 5;

[[noreturn]] void Throw(std::string_view what, int error) {
  throw Error(Code::kInternal, fmt::format("{}: {}", what, std::strerror(error)));
}

std::vector<char*> Pointers(std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  for (std::string& text : texts) pointers.push_back(text.data());
  pointers.push_back(nullptr);
  return pointers;
}

pid_t Spawn(const ProcessRequest& request) {
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  const auto file = [&request](const char* name) { return JoinPath(request.output_folder, name); };
  const int write_flags = O_WRONLY | O_CREAT | O_TRUNC | O_APPEND;
  posix_spawn_file_actions_addopen(&actions, 0, file("stdin").c_str(), O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&actions, 1, file("stdout").c_str(), write_flags, 0600);
  posix_spawn_file_actions_addopen(&actions, 2, file("stderr").c_str(), write_flags, 0600);
  posix_spawn_file_actions_addchdir_np(&actions, request.folder.c_str());

  // A separate process group, with the signals as in a login shell.
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  sigset_t all, none;
  sigfillset(&all);
  sigemptyset(&none);
  posix_spawnattr_setsigdefault(&attributes, &all);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setflags(&attributes,
                           POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK);

  std::vector<std::string> words = request.words;
  std::vector<std::string> environment;
  for (const auto& [name, value] : request.environment) environment.push_back(name + "=" + value);
  pid_t pid = 0;
  const int error = posix_spawn(&pid, request.program.c_str(), &actions, &attributes,
                                Pointers(words).data(), Pointers(environment).data());
  posix_spawn_file_actions_destroy(&actions);
  posix_spawnattr_destroy(&attributes);
  if (error != 0) Throw(request.program, error);
  return pid;
}

// Waits for the end of the process or the limit, and sends the signal when it is due.
void Wait(const ProcessRequest& request, pid_t pid, ProcessResult& result) {
  const int fd = static_cast<int>(syscall(SYS_pidfd_open, pid, 0));
  if (fd < 0) Throw("pidfd_open", errno);
  const auto limit = std::chrono::duration<double>(request.limit_s);
  const auto deadline = Clock::now() + std::chrono::duration_cast<Clock::duration>(limit);
  pollfd ended{fd, POLLIN, 0};
  while (true) {
    const auto left =
        std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now()).count();
    result.is_over_limit = left <= 0;
    if (result.is_over_limit) break;
    const bool waits_for_signal = request.signal != 0 && !result.was_signalled;
    const auto timeout_ms = waits_for_signal ? std::min<long>(left, kLookMs) : left;
    if (poll(&ended, 1, static_cast<int>(timeout_ms)) > 0) break;
    if (waits_for_signal && request.is_due(ReadFile(JoinPath(request.output_folder, "stderr")))) {
      result.was_signalled = true;
      kill(-pid, request.signal);
    }
  }
  close(fd);
}

}  // namespace

ProcessResult RunProcess(const ProcessRequest& request) {
  WriteFileAtomically(JoinPath(request.output_folder, "stdin"), request.input, false);
  const pid_t pid = Spawn(request);
  ProcessResult result;
  Wait(request, pid, result);
  // The leader has not been reaped, so its group's number cannot belong to another process.
  kill(-pid, SIGKILL);
  int status = 0;
  while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  result.code = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
  result.out = ReadFile(JoinPath(request.output_folder, "stdout"));
  result.err = ReadFile(JoinPath(request.output_folder, "stderr"));
  return result;
}

}  // namespace tpuest
