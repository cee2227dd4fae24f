#pragma once
// What --device names: where the steps of a job run.

#include <memory>
#include <string>

#include "cli/job/job_fwd.h"
#include "core/backend/pjrt/plugin.h"
#include "core/backend/pjrt/program.h"

namespace tpuest::cli {

// What a device is told of the job.
[[nodiscard]] DeviceOptions DeviceOptionsOf(const TpuestOptions& options);

class Device {
 public:
  // "cpu": the CPU engine, which needs nothing here. Else a PJRT plugin, started for so many
  // replicas; Error kUsage that names its file where that fails.
  Device(const std::string& name, int replicas, PjrtLogging logging);

  // nullptr: the CPU engine's.
  [[nodiscard]] Backend* backend() const { return backend_.get(); }

 private:
  std::unique_ptr<PjrtClient> client_;
  std::unique_ptr<Backend> backend_;
};

}  // namespace tpuest::cli
