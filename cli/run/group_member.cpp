#include "cli/run/group_member.h"

#include <unistd.h>

#include <cstdio>
#include <string>
#include <utility>

#include "cli/host/build_info.h"
#include "cli/host/cpu_features.h"
#include "cli/job/job.h"
#include "cli/run/command_job.h"
#include "cli/run/process.h"
#include "core/backend/pjrt/log.h"
#include "core/base/process/interrupt.h"
#include "core/estimator/group/control_messages.h"

namespace tpuest::cli {
namespace {

// Returns the keys that change bits, one per line.
std::string BitsOf(const Job& job) {
  std::string text;
  for (const config::FlatValue& value : FlatJob(job)) {
    if (value.changes_bits) text += fmt::format("{}: {}\n", value.path, value.text);
  }
  return text;
}

}  // namespace

void GroupMember::Join(const Job& job, const hosts::ProcessPlace& place,
                       const Invocation& invocation, StopSignal& stop, Log& log) {
  if (Trains(invocation) && !job.train_spec) return;  // the command reports it
  CheckGroup(job, place, invocation);
  hosts::GroupSettings settings = SettingsOf(job, place);
  settings.links.gives_up = [&stop] { return stop.requested(); };
  settings.asked_to_stop = [&stop] { return static_cast<int>(stop.kind()); };
  settings.vote = [&stop](int kind) { stop.Request(static_cast<StopSignal::Kind>(kind)); };
  settings.end = [](const Error& verdict) {
    EndPjrtSilence();  // a plugin's call may not have returned
    fmt::print(stderr, "error: {}\n", verdict.message());
    std::fflush(stderr);
    _exit(static_cast<int>(verdict.code()));
  };
  const hosts::RendezvousPoint& rendezvous = settings.links.rendezvous;
  if (rendezvous.insecure && rendezvous.token.empty() && place.rank == 0) {
    log.Warning(
        "tpuest.cluster.insecure is true: without a cluster token anyone who reaches {} can join "
        "this job, and can read and change its traffic",
        rendezvous.chief);
  }
  try {
    group_ = std::make_unique<hosts::Group>(std::move(settings));
  } catch (const Error& error) {
    // A signal arrived here or in process 0 before anything began, so nothing has to be saved.
    if (error.code() != Code::kPreempted) throw;
    const bool interrupted = stop.kind() == StopSignal::Kind::kInterrupted;
    throw Error(static_cast<Code>(interrupted ? kInterruptedCode : kTerminatedCode),
                error.faults());
  }
  permit_.emplace([this] { group_->NeedMembership(); });
  try {
    const BuildInfo& build = ThisBuild();
    group_->CheckSame("build",
                      fmt::format("{} {} {}", build.version, build.commit, build.compiler));
    group_->CheckSame("processor", CpuText());
    group_->CheckSame("job", BitsOf(job));
  } catch (const Error& error) {
    Leave(error);
    throw;
  }
}

void GroupMember::Leave(const Error& error) noexcept {
  if (group_ == nullptr) return;
  try {
    group_->Fail(error);
  } catch (const std::exception&) {
    // The other processes notice that this process is gone.
  }
}

void GroupMember::End(int exit_code, Log& log) {
  constexpr double kPatienceSecs = 10;
  if (group_ == nullptr) return;
  try {
    SendControl(*group_, EndMessage{.exit_code = exit_code});
  } catch (const Error& error) {
    log.Warning("{}, after the last step", error.message());
  }
  group_->AwaitExits(kPatienceSecs);
  const int64_t unauthenticated = group_->unauthenticated();
  if (unauthenticated == 0) return;
  log.Info("refused {} unauthenticated connection{}", unauthenticated,
           unauthenticated == 1 ? "" : "s");
}

}  // namespace tpuest::cli
