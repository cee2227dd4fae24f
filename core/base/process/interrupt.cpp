#include "core/base/process/interrupt.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>

#include "core/base/error.h"

namespace tpuest {
namespace {

constexpr int kLookMs = 50;

// A handler reaches nothing but statics. 0: not interrupted.
std::atomic<int> interrupted_with{0};
static_assert(std::atomic<int>::is_always_lock_free);

[[noreturn]] void ThrowInterrupted(const std::string& path) {
  throw Error(static_cast<Code>(interrupted_with.load()),
              fmt::format("{}: stopped by a signal while waiting for the other end", path));
}

bool IsPipe(const std::string& path) {
  struct stat info {};
  return ::stat(path.c_str(), &info) == 0 && S_ISFIFO(info.st_mode);
}

void MakeBlocking(int fd) { ::fcntl(fd, F_SETFL, ::fcntl(fd, F_GETFL) & ~O_NONBLOCK); }

}  // namespace

void Interrupt(int exit_code) noexcept {
  int none = 0;
  interrupted_with.compare_exchange_strong(none, exit_code);
}

bool IsInterrupted() noexcept { return interrupted_with.load() != 0; }

void NeedNoInterrupt(const std::string& what) {
  const int code = interrupted_with.load();
  if (code != 0) throw Error(static_cast<Code>(code), what + ": stopped by a signal");
}

// What is no pipe, socket or terminal is always ready; and so is an end that was closed, or a
// descriptor that is none: read and write then say so.
bool WaitUntilReady(int fd, For what) {
  pollfd asked{.fd = fd,
               .events = static_cast<int16_t>(what == For::kReading ? POLLIN : POLLOUT),
               .revents = 0};
  while (true) {
    const int ready = ::poll(&asked, 1, kLookMs);
    if (ready > 0 || (ready < 0 && errno != EINTR)) return true;
    if (interrupted_with.load() != 0) return false;
  }
}

bool IsReadyWithin(int fd, int wait_ms, const std::string& name) {
  using Clock = std::chrono::steady_clock;
  const Clock::time_point end = Clock::now() + std::chrono::milliseconds(std::max(wait_ms, 0));
  pollfd asked{.fd = fd, .events = POLLIN, .revents = 0};
  while (true) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(end - Clock::now());
    const int64_t left_ms = wait_ms < 0 ? kLookMs : std::max<int64_t>(left.count(), 0);
    const int ready = ::poll(&asked, 1, static_cast<int>(std::min<int64_t>(left_ms, kLookMs)));
    if (ready > 0 || (ready < 0 && errno != EINTR)) return true;
    if (interrupted_with.load() != 0) ThrowInterrupted(name);
    if (wait_ms >= 0 && Clock::now() >= end) return false;
  }
}

void NeedReady(int fd, For what, const std::string& path) {
  if (!WaitUntilReady(fd, what)) ThrowInterrupted(path);
}

// A pipe that is opened without blocking has no end yet: data or the end come when somebody writes.
int OpenToRead(const std::string& path) {
  if (!IsPipe(path)) return ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) return fd;
  MakeBlocking(fd);
  NeedReady(fd, For::kReading, path);
  return fd;
}

// Without a reader a pipe cannot be opened this way: ENXIO.
int OpenToWrite(const std::string& path) {
  if (!IsPipe(path)) return ::open(path.c_str(), O_WRONLY | O_CLOEXEC);
  while (true) {
    const int fd = ::open(path.c_str(), O_WRONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd >= 0) MakeBlocking(fd);
    if (fd >= 0 || errno != ENXIO) return fd;
    ::poll(nullptr, 0, kLookMs);
    if (interrupted_with.load() != 0) ThrowInterrupted(path);
  }
}

}  // namespace tpuest
