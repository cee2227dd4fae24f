#include "core/backend/pjrt/log.h"

#include <fcntl.h>
#include <unistd.h>

#include <cstdlib>
#include <mutex>

namespace tpuest {
namespace {

// Counts the silences of a process: the first one redirects stderr, and the last one restores it.
class Stderr {
 public:
  static Stderr& Get() {
    static Stderr only;
    return only;
  }
  void Mute() {
    const std::lock_guard lock(mutex_);
    if (muted_++ > 0) return;
    saved_ = ::fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 0);
    const int nowhere = ::open("/dev/null", O_WRONLY | O_CLOEXEC);
    if (saved_ >= 0 && nowhere >= 0) ::dup2(nowhere, STDERR_FILENO);
    if (nowhere >= 0) ::close(nowhere);
  }
  void Unmute() {
    const std::lock_guard lock(mutex_);
    if (--muted_ > 0 || saved_ < 0) return;
    ::dup2(saved_, STDERR_FILENO);
    ::close(saved_);
  }
  void UnmuteForGood() {
    const std::lock_guard lock(mutex_);
    if (muted_ > 0 && saved_ >= 0) ::dup2(saved_, STDERR_FILENO);
    ++muted_;
  }

 private:
  std::mutex mutex_;
  int muted_ = 0;
  int saved_ = -1;
};

}  // namespace

void SetPjrtLogVariables(PjrtLogging logging) {
  if (logging == PjrtLogging::kLoud) return;
  // Variables of XLA and TensorFlow, and of libtpu. 3: fatal errors only.
  for (const char* const name :
       {"TF_CPP_MIN_LOG_LEVEL", "TPU_MIN_LOG_LEVEL", "TPU_STDERR_LOG_LEVEL"}) {
    ::setenv(name, "3", /*overwrite=*/0);
  }
}

PjrtSilence::PjrtSilence(PjrtLogging logging) : on_(logging == PjrtLogging::kQuiet) {
  if (on_) Stderr::Get().Mute();
}

PjrtSilence::~PjrtSilence() {
  if (on_) Stderr::Get().Unmute();
}

void EndPjrtSilence() { Stderr::Get().UnmuteForGood(); }

}  // namespace tpuest
