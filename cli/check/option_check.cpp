#include "cli/check/option_check.h"

#include <string>

#include "cli/check/row_count_check.h"
#include "cli/host/signals.h"
#include "cli/job/job.h"
#include "cli/shell/invocation.h"
#include "core/base/faults.h"
#include "core/base/text.h"

namespace tpuest::cli {
namespace {

void CheckDevice(const Job& job, Faults& faults) {
  const std::string& name = job.tpuest.device;
  if (name == "auto" || IsDeviceName(name)) return;
  faults.Say("tpuest.device", fmt::format("unknown device '{}'", name),
             fmt::format("expected auto, {}", kDeviceNames));
}

void CheckPreemption(const Job& job, Faults& faults) {
  const PreemptionOptions& preemption = job.tpuest.preemption;
  for (const std::string& name : preemption.signals) {
    if (SignalNamed(name)) continue;
    faults.Say("tpuest.preemption.signals",
               fmt::format("a run cannot stop on the signal '{}'", name),
               "write one of " + Join(StopSignalNames(), ", "));
  }
  if (preemption.grace_secs && !(*preemption.grace_secs > 0 && *preemption.grace_secs < 1e9)) {
    faults.Say(
        "tpuest.preemption.grace_secs",
        fmt::format("grace_secs is {}; expected more than 0", NumberText(*preemption.grace_secs)),
        "use less time than the machine has left after the signal, or null for no limit");
  }
}

void CheckDeadlines(const Job& job, Faults& faults) {
  const DeadlineOptions& deadlines = job.tpuest.deadlines;
  const auto check = [&](const std::string& name, double value, double least) {
    faults.Expect(
        value >= least, "tpuest.deadlines." + name,
        fmt::format("{} is {}; expected at least {}", name, NumberText(value), NumberText(least)),
        "a busy machine needs some time to answer");
  };
  check("rendezvous_secs", deadlines.rendezvous_secs, 1);
  check("peer_secs", deadlines.peer_secs, 2);
  if (deadlines.step_secs != 0) check("step_secs", deadlines.step_secs, 1);
  const double evaluator_secs = deadlines.evaluator_secs;
  faults.Expect(
      evaluator_secs > 0, "tpuest.deadlines.evaluator_secs",
      fmt::format("evaluator_secs is {}; expected more than 0", NumberText(evaluator_secs)),
      "600 is ten minutes");
}

}  // namespace

std::vector<Fault> CheckOptions(const Job& job) {
  const TpuestOptions& options = job.tpuest;
  Faults faults;
  const double most = options.data_errors.max_fraction;
  faults.Expect(most >= 0 && most <= 1, "tpuest.data_errors.max_fraction",
                fmt::format("max_fraction is {}; expected 0 to 1", NumberText(most)));
  faults.Expect(options.staging_bytes >= 1, "tpuest.staging_bytes",
                fmt::format("staging_bytes is {}; expected at least 1", options.staging_bytes),
                "67108864 is 64 MiB; every replica always receives at least one batch");
  faults.Expect(options.on_nan.max_skips >= 0, "tpuest.on_nan.max_skips",
                fmt::format("max_skips is {}; expected at least 0", options.on_nan.max_skips),
                "0 ends the run at the first such step, as policy: stop does");
  CheckDevice(job, faults);
  CheckPreemption(job, faults);
  CheckDeadlines(job, faults);
  faults.AddAll(CheckRowCounts(job));
  return faults.Take();
}

}  // namespace tpuest::cli
