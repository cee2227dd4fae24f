#include "cli/host/signals.h"

#include <unistd.h>

#include <atomic>
#include <csignal>

#include "core/base/interrupt.h"

namespace tpuest::cli {
namespace {

// A handler reaches nothing but statics.
StopSignal* stop_signal = nullptr;
// Two signals may be handled at once, each on a thread of its own: one of them is the second.
std::atomic<bool> heard_one = false;
static_assert(std::atomic<bool>::is_always_lock_free);

void Handle(int signal) {
  const bool interrupt = signal == SIGINT;
  const bool is_second = heard_one.exchange(true) || stop_signal->requested();
  if (is_second) _exit(interrupt ? 130 : 143);
  Interrupt(interrupt ? 130 : 75);
  stop_signal->Request(interrupt ? StopSignal::Kind::kInterrupted : StopSignal::Kind::kPreempted);
}

}  // namespace

void HandleSignals(StopSignal& stop) {
  stop_signal = &stop;
  heard_one = false;
  struct sigaction action {};
  action.sa_handler = Handle;
  sigemptyset(&action.sa_mask);
  action.sa_flags = SA_RESTART;
  for (const int signal : {SIGTERM, SIGUSR1, SIGINT}) sigaction(signal, &action, nullptr);
  // nohup has a lost terminal ignored, and so it stays.
  struct sigaction before {};
  sigaction(SIGHUP, nullptr, &before);
  if (before.sa_handler != SIG_IGN) sigaction(SIGHUP, &action, nullptr);
  std::signal(SIGPIPE, SIG_IGN);
}

}  // namespace tpuest::cli
