#pragma once
// The device that --device names: the steps of a job run on it.

#include <memory>
#include <optional>
#include <string>

#include "cli/job/job_fwd.h"
#include "core/backend/pjrt/plugin.h"
#include "core/backend/pjrt/program.h"

namespace tpuest {
struct GpuOptions;
}

namespace tpuest::cli {

// The options of the job that reach the device: how many bytes are staged, how precise matmul is.
[[nodiscard]] DeviceOptions DeviceOptionsOf(const TpuestOptions& options);

// Pins the vector instructions that tpuest.cpu_isa names, before the first kernel. Error kUsage at
// that key where this processor lacks them; and at model.precision where the CPU engine computes
// the steps here and cannot do so in bfloat16.
void ChooseCpuIsa(const Job& job, bool computes_here);

// The device that the steps run on: the one of --device, else the one of the job; "cpu" for "auto".
[[nodiscard]] std::string DeviceName(const std::optional<std::string>& flag, const Job& job);

// Whether a device can be one process's share of a group's: not XLA's CPU plugin, whose devices
// have no way to those of other processes.
[[nodiscard]] bool SpansProcesses(const std::string& device);

// Owns the plugin and its backend; it outlives the Estimator that runs on it.
class Device {
 public:
  // "cpu" is the CPU engine, which needs nothing here. Any other name is a PJRT plugin, started for
  // so many devices; Error kUsage that names its file where that fails.
  // As one process of several, where there are keys: that many of the devices are its own. What is
  // said of GPUs is for plugins that have some.
  Device(const std::string& name, int devices, PjrtLogging logging, const GpuOptions& gpu,
         const PjrtProcesses& processes = {});

  // nullptr stands for the CPU engine, which the Estimator makes itself.
  [[nodiscard]] Backend* backend() const { return backend_.get(); }

 private:
  std::unique_ptr<PjrtClient> client_;
  std::unique_ptr<Backend> backend_;
};

}  // namespace tpuest::cli
