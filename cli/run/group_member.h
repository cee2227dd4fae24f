#pragma once
// This process as one of the processes of a group.

#include <memory>
#include <optional>

#include "cli/job/job_fwd.h"
#include "cli/shell/invocation.h"
#include "core/base/error.h"
#include "core/base/log.h"
#include "core/base/process/write_permit.h"
#include "core/estimator/contract/stop_signal.h"
#include "core/hosts/group.h"
#include "core/hosts/launch.h"

namespace tpuest::cli {

// Owns the group and the permit to write that depends on it. A process that has not joined a group
// works by itself.
class GroupMember {
 public:
  // Meets the other processes and compares builds, processors and jobs with them; `stop` must
  // outlive the group. Does nothing for a training without a train_spec. Throws Error kUsage for a
  // job that a group cannot run, kLost if the processes do not meet, and the exit code of the
  // signal if it arrives first. After that an error of this process ends the whole group.
  void Join(const Job& job, const hosts::ProcessPlace& place, const Invocation& invocation,
            StopSignal& stop, Log& log);

  // nullptr: this process works by itself.
  [[nodiscard]] hosts::Group* group() const { return group_.get(); }
  // Whether another process is the chief, and this one only computes its replicas.
  [[nodiscard]] bool is_worker() const { return group_ != nullptr && !group_->is_chief(); }

  // Ends the group after everything is saved: a process lost now loses no work.
  void End(int exit_code, Log& log);
  // Tells the other processes that this one ends with an error.
  void Leave(const Error& error) noexcept;

 private:
  std::unique_ptr<hosts::Group> group_;
  std::optional<WritePermit> permit_;
};

}  // namespace tpuest::cli
