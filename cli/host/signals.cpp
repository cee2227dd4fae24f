#include "cli/host/signals.h"

#include <unistd.h>

#include <array>
#include <atomic>
#include <cmath>
#include <csignal>

#include "core/base/process/interrupt.h"

namespace tpuest::cli {
namespace {

// A handler reaches nothing but statics.
StopSignal* stop_signal = nullptr;
// Two signals may be handled at once, each on a thread of its own: one of them is the second.
std::atomic<bool> heard_one = false;
std::atomic<unsigned> grace = 0;  // seconds; 0: as long as it needs
std::atomic<int> overdue_code = kTerminatedCode;
static_assert(std::atomic<bool>::is_always_lock_free && std::atomic<int>::is_always_lock_free);

// Handlers run on a stack of their own: while the main thread computes, its stack pointer may be
// oneDNN's for other uses (core/backend/threads.cpp).
alignas(16) std::array<char, size_t{1} << 16> handlers_stack;

struct NamedSignal {
  std::string_view name;
  int number;
};

constexpr NamedSignal kStopSignals[] = {{"SIGTERM", SIGTERM},
                                        {"SIGINT", SIGINT},
                                        {"SIGUSR1", SIGUSR1},
                                        {"SIGUSR2", SIGUSR2},
                                        {"SIGHUP", SIGHUP}};

// The time that SIGALRM was asked for is over.
void LeaveOverdue(int /*signal*/) {
  constexpr std::string_view kText =
      "tpuest: exited before everything was saved: tpuest.preemption.grace_secs has passed\n";
  // A stderr that is closed is no reason to stay.
  [[maybe_unused]] const ssize_t told = ::write(STDERR_FILENO, kText.data(), kText.size());
  _exit(overdue_code);
}

void Handle(int signal) {
  const bool interrupt = signal == SIGINT;
  const int code = interrupt ? kInterruptedCode : kTerminatedCode;
  if (heard_one.exchange(true)) _exit(code);
  overdue_code = code;
  if (grace != 0) alarm(grace);
  // First: a thread whose wait ends looks whether a stop was the reason.
  stop_signal->Request(interrupt ? StopSignal::Kind::kInterrupted : StopSignal::Kind::kPreempted);
  Interrupt(code);
}

}  // namespace

std::vector<std::string> StopSignalNames() {
  std::vector<std::string> names;
  for (const NamedSignal& each : kStopSignals) names.emplace_back(each.name);
  return names;
}

std::optional<int> SignalNamed(std::string_view name) {
  for (const NamedSignal& each : kStopSignals) {
    if (each.name == name) return each.number;
  }
  return std::nullopt;
}

void HandleSignals(StopSignal& stop, const std::vector<std::string>& names,
                   std::optional<double> grace_secs) {
  stop_signal = &stop;
  heard_one = stop.requested();
  grace = static_cast<unsigned>(std::ceil(grace_secs.value_or(0)));
  const stack_t stack{
      .ss_sp = handlers_stack.data(), .ss_flags = 0, .ss_size = handlers_stack.size()};
  sigaltstack(&stack, nullptr);
  struct sigaction action {};
  sigemptyset(&action.sa_mask);
  action.sa_flags = SA_ONSTACK;
  action.sa_handler = LeaveOverdue;
  if (grace_secs) sigaction(SIGALRM, &action, nullptr);
  action.sa_handler = Handle;
  action.sa_flags = SA_RESTART | SA_ONSTACK;
  for (const std::string& name : names) {
    const std::optional<int> number = SignalNamed(name);
    if (!number) continue;  // ValidateJob has said so
    // nohup has a lost terminal ignored, and so it stays.
    struct sigaction before {};
    sigaction(*number, nullptr, &before);
    if (*number == SIGHUP && before.sa_handler == SIG_IGN) continue;
    sigaction(*number, &action, nullptr);
  }
  std::signal(SIGPIPE, SIG_IGN);
}

}  // namespace tpuest::cli
