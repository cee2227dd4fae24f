#include "core/base/process/child_process.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <utility>

#include "core/base/clock.h"
#include "core/base/error.h"
#include "core/base/text.h"

namespace tpuest {
namespace {

constexpr const char* kLinkToThis = "/proc/self/exe";

// The path that this program was started by, for a system without /proc. Taken before anything
// changes the working directory.
std::string StartedFrom() {
  // NOLINTNEXTLINE(performance-no-int-to-ptr): the kernel gives addresses as numbers
  const auto* const path = reinterpret_cast<const char*>(::getauxval(AT_EXECFN));
  std::error_code error;
  return path == nullptr ? "" : std::filesystem::absolute(path, error).string();
}
const std::string kStartedFrom = StartedFrom();

constexpr int kEndMs = 300;      // a program that is told to end has so long before it is killed
constexpr int kMostWaitMs = 16;  // between two looks at a child

// A new file in memory alone.
int MemoryFile() {
  const int number = ::memfd_create("child", MFD_CLOEXEC);
  if (number >= 0) return number;
  throw Error(Code::kResource,
              fmt::format("no file in memory for a program ({})", strerror(errno)));
}

// A file of the parent's that the child takes over under another number.
class OpenFile {
 public:
  // A file of the memory's, with these contents.
  explicit OpenFile(const std::string& contents) : number_(MemoryFile()) {
    const auto size = static_cast<ssize_t>(contents.size());
    if (::write(number_, contents.data(), contents.size()) == size &&
        ::lseek(number_, 0, SEEK_SET) == 0) {
      return;
    }
    ::close(number_);
    throw Error(Code::kResource,
                fmt::format("no memory for a program's input ({})", strerror(errno)));
  }
  OpenFile(const std::string& path, int flags)
      : number_(::open(path.c_str(), flags | O_CLOEXEC, 0644)) {
    if (number_ >= 0) return;
    throw Error(Code::kUsage, fmt::format("{}: cannot be written ({})", path, strerror(errno)));
  }
  ~OpenFile() { ::close(number_); }
  OpenFile(const OpenFile&) = delete;
  OpenFile& operator=(const OpenFile&) = delete;

  [[nodiscard]] int number() const { return number_; }

 private:
  int number_;
};

// All that the child needs is there before it is made: other threads may hold locks that nobody
// gives back in it, so it calls nothing but what is safe in a signal handler.
struct Prepared {
  const char* program;
  char* const* words;
  char* const* variables;  // the whole environment
  int input;
  int output;  // stdout; -1: as it is
  int errors;  // stderr; -1: as it is
  bool has_group;
  bool supervised;
  pid_t parent;
  int keeper;  // where the keeper reads which group it ends; -1: nowhere
};

void WriteAll(int to, const char* bytes, size_t size) {
  while (size > 0) {
    const ssize_t written = ::write(to, bytes, size);
    if (written <= 0) return;
    bytes += written;
    size -= static_cast<size_t>(written);
  }
}

// A line of digits, without memory.
void WriteNumber(int to, pid_t number) {
  char line[16];
  char* at = std::end(line);
  *--at = '\n';
  for (; number > 0; number /= 10) *--at = static_cast<char>('0' + number % 10);
  WriteAll(to, at, static_cast<size_t>(std::end(line) - at));
}

// In the child. Returns, with errno, only where the program cannot be run.
void Become(const Prepared& prepared) {
  if (prepared.has_group) setpgid(0, 0);
  if (prepared.keeper >= 0) WriteNumber(prepared.keeper, getpid());
  if (prepared.supervised) {
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    if (getppid() != prepared.parent) _exit(128 + SIGTERM);  // died before it could be told
  }
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  signal(SIGPIPE, SIG_DFL);  // which this process ignores
  dup2(prepared.input, STDIN_FILENO);
  // Before stdout is another: they may be one.
  if (prepared.errors >= 0) dup2(prepared.errors, STDERR_FILENO);
  if (prepared.output >= 0) dup2(prepared.output, STDOUT_FILENO);
  environ = const_cast<char**>(prepared.variables);
  execvp(prepared.program, prepared.words);
}

[[noreturn]] void ThrowNotStarted(const std::string& what, int number) {
  throw Error(Code::kResource,
              fmt::format("'{}' could not be started: {}", what, std::strerror(number)));
}

// The status with which a child ends.
int WaitFor(pid_t child) {
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) continue;
  return status;
}

ProcessEnd EndOf(int status) {
  if (WIFSIGNALED(status)) return {.signal = WTERMSIG(status)};
  return {.code = WEXITSTATUS(status)};
}

}  // namespace

std::string ThisProgram() { return ::access(kLinkToThis, F_OK) == 0 ? kLinkToThis : kStartedFrom; }

std::string ThisProgramFile() {
  std::error_code error;
  const std::string path = std::filesystem::read_symlink(kLinkToThis, error).string();
  return error ? kStartedFrom : path;
}

int ProcessEnd::ShellCode() const {
  constexpr int kSignalled = 128;
  return signal != 0 ? kSignalled + signal : code;
}

// Between the two runs a pipe: what is said in it is an answer, or the errno of a program that
// could not be run. A program that runs closes its end without a word.
ChildProcess::ChildProcess(const ProgramCall& call)
    : has_group_(call.supervised || call.ends_with_us), ends_with_us_(call.ends_with_us) {
  std::vector<std::string> words = call.words;
  std::vector<char*> pointers;
  for (std::string& word : words) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  std::vector<std::string> added = call.variables;
  std::vector<char*> variables;
  for (std::string& variable : added) variables.push_back(variable.data());
  for (char** variable = environ; *variable != nullptr; ++variable) {
    variables.push_back(*variable);  // of two of one name the first holds
  }
  variables.push_back(nullptr);
  const OpenFile input(call.input);
  if (call.answers) output_ = MemoryFile();
  std::optional<OpenFile> log;
  if (call.log) log.emplace(*call.log, O_WRONLY | O_CREAT | O_APPEND);
  const int output = log ? log->number() : STDERR_FILENO;
  const bool errors_stay = call.speaks_for_itself || call.output >= 0;
  const int errors = errors_stay ? -1 : output;
  if (ends_with_us_) StartKeeper();
  const Prepared prepared{.program = call.program.c_str(),
                          .words = pointers.data(),
                          .variables = variables.data(),
                          .input = input.number(),
                          .output = call.answers       ? output_
                                    : call.output >= 0 ? call.output
                                                       : errors,
                          .errors = errors,
                          .has_group = has_group_,
                          .supervised = call.supervised,
                          .parent = getpid(),
                          .keeper = to_keeper_};
  const std::string what = Join(call.words, " ");
  const int refused = Start([&](int to) {
    Become(prepared);
    const int number = errno;
    WriteAll(to, reinterpret_cast<const char*>(&number), sizeof number);
  });
  if (refused != 0) {
    DismissKeeper();
    ThrowNotStarted(what, refused);
  }
  int number = 0;
  ssize_t size = 0;
  do {
    size = ::read(from_, &number, sizeof number);
  } while (size < 0 && errno == EINTR);
  if (size == 0) return;
  Wait();
  ThrowNotStarted(what, number);
}

ChildProcess::ChildProcess(const std::function<std::string()>& question) {
  const int refused = Start([&](int to) {
    const std::string answer = question();
    WriteAll(to, answer.data(), answer.size());
  });
  if (refused != 0) ThrowNotStarted("a copy of this process", refused);
}

int ChildProcess::Start(const std::function<void(int to)>& body) {
  int ends[2] = {};
  if (::pipe2(ends, O_CLOEXEC) != 0) return errno;
  from_ = ends[0];
  pid_ = ::fork();
  if (pid_ == 0) {
    body(ends[1]);
    _exit(0);
  }
  const int number = errno;
  ::close(ends[1]);
  if (pid_ < 0) {
    ::close(from_);
    return number;
  }
  // Here too: a signal may be passed on before the child has come to it.
  if (has_group_) setpgid(pid_, pid_);
  return 0;
}

// The keeper is a shell that reads a pipe, which ends when this process ends; it is killed once the
// child has ended. A parent's death signal would come when the thread that started the child ends,
// and reach the child only, not its own children. A copy of this process that kept waiting would
// hold a copy of all memory that is written meanwhile. The shell runs before the child is made:
// until then it has this process's files, and with them the lock on model_dir, which must not
// outlive a process that the child's first act ends. Without memory for a keeper, or without a
// shell, the child is on its own.
void ChildProcess::StartKeeper() {
  constexpr const char* kScript =
      "read -r group && { read -r _; kill -TERM -$group; sleep 1; kill -KILL -$group; }";
  int ends[2] = {};
  if (::pipe2(ends, O_CLOEXEC) != 0) return;
  int runs[2] = {};  // ends when the shell runs
  if (::pipe2(runs, O_CLOEXEC) != 0) {
    ::close(ends[0]);
    ::close(ends[1]);
    return;
  }
  keeper_ = ::fork();
  if (keeper_ == 0) {
    ::close(ends[1]);
    // Signals that end this process may reach all of its session.
    setsid();
    sigset_t all;
    sigfillset(&all);
    sigdelset(&all, SIGCHLD);
    sigprocmask(SIG_SETMASK, &all, nullptr);
    dup2(ends[0], STDIN_FILENO);
    const int nowhere = ::open("/dev/null", O_WRONLY);
    dup2(nowhere, STDOUT_FILENO);
    dup2(nowhere, STDERR_FILENO);
    execl("/bin/sh", "sh", "-c", kScript, static_cast<char*>(nullptr));
    _exit(0);
  }
  ::close(ends[0]);
  ::close(runs[1]);
  to_keeper_ = ends[1];
  char nothing = 0;
  while (::read(runs[0], &nothing, 1) < 0 && errno == EINTR) continue;
  ::close(runs[0]);
}

void ChildProcess::DismissKeeper() {
  if (keeper_ > 0) {
    ::kill(keeper_, SIGKILL);
    WaitFor(std::exchange(keeper_, -1));
  }
  if (to_keeper_ >= 0) ::close(std::exchange(to_keeper_, -1));
}

ChildProcess::~ChildProcess() {
  if (pid_ > 0) {
    ends_with_us_ ? EndGroup() : Signal(has_group_ ? SIGTERM : SIGKILL);
    if (pid_ > 0) Wait();
  }
  if (from_ >= 0) ::close(from_);
  if (output_ >= 0) ::close(output_);
}

ChildProcess::ChildProcess(ChildProcess&& other) noexcept
    : pid_(std::exchange(other.pid_, -1)),
      from_(std::exchange(other.from_, -1)),
      output_(std::exchange(other.output_, -1)),
      has_group_(other.has_group_),
      ends_with_us_(other.ends_with_us_),
      keeper_(std::exchange(other.keeper_, -1)),
      to_keeper_(std::exchange(other.to_keeper_, -1)) {}

std::optional<std::string> ChildProcess::Answer(double deadline_secs) {
  const SystemClock clock;
  const double end = clock.Seconds() + deadline_secs;
  std::string answer;
  char buffer[4096];
  while (true) {
    const double left = end - clock.Seconds();
    if (left <= 0) return std::nullopt;
    pollfd waited{.fd = from_, .events = POLLIN, .revents = 0};
    if (::poll(&waited, 1, static_cast<int>(left * 1000) + 1) <= 0) continue;
    const ssize_t size = ::read(from_, buffer, sizeof buffer);
    if (size <= 0) return answer;
    answer.append(buffer, static_cast<size_t>(size));
  }
}

// SIGTERM to all of the group, and SIGKILL to who is left a moment later.
void ChildProcess::EndGroup() {
  const pid_t group = pid_;
  const SystemClock clock;
  const double end = clock.Seconds() + kEndMs * 1e-3;
  ::kill(-group, SIGTERM);
  while (clock.Seconds() < end) {
    if (pid_ > 0) (void)Poll();
    if (::kill(-group, 0) != 0) return;
    ::poll(nullptr, 0, 1);
  }
  ::kill(-group, SIGKILL);
}

void ChildProcess::Signal(int number) const {
  if (pid_ > 0) ::kill(has_group_ ? -pid_ : pid_, number);
}

std::optional<ProcessEnd> ChildProcess::Poll() {
  int status = 0;
  if (::waitpid(pid_, &status, WNOHANG) != pid_) return std::nullopt;
  pid_ = -1;
  DismissKeeper();
  return EndOf(status);
}

std::string ChildProcess::Output() const {
  std::string text;
  char buffer[4096];
  off_t at = 0;
  for (ssize_t size = 0; (size = ::pread(output_, buffer, sizeof buffer, at)) > 0; at += size) {
    text.append(buffer, static_cast<size_t>(size));
  }
  return text;
}

ProcessEnd ChildProcess::Wait() {
  const int status = WaitFor(std::exchange(pid_, -1));
  DismissKeeper();
  return EndOf(status);
}

ProcessEnd ChildProcess::Wait(const std::function<std::optional<int>()>& is_asked) {
  bool was_asked = false;
  for (int wait_ms = 1;; wait_ms = std::min(2 * wait_ms, kMostWaitMs)) {
    if (const std::optional<ProcessEnd> end = Poll()) return *end;
    const std::optional<int> signal = was_asked ? std::nullopt : is_asked();
    if (signal) Signal(*signal);
    was_asked = was_asked || signal;
    ::poll(nullptr, 0, wait_ms);
  }
}

}  // namespace tpuest
