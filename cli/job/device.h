#pragma once
// The device that runs the steps of a job: --device.

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

// Returns the options of the job that concern the device: staged bytes and precision of matmul.
[[nodiscard]] DeviceOptions DeviceOptionsOf(const TpuestOptions& options);

// Selects the vector instructions that tpuest.cpu_isa names; call it before the first kernel. Error
// kUsage at that key if this processor lacks them, and at model.precision if the CPU engine
// computes the steps here and cannot use bfloat16.
void ChooseCpuIsa(const Job& job, bool computes_here);

// Returns the device that the steps run on: --device's, otherwise the job's; "cpu" for "auto".
[[nodiscard]] std::string DeviceName(const std::optional<std::string>& flag, const Job& job);

// Returns true if the processes of a group can each use a share of such devices; false for XLA's
// CPU plugin, whose devices cannot reach those of other processes.
[[nodiscard]] bool SpansProcesses(const std::string& device);

// Owns the plugin and its backend; must outlive the Estimator that runs on it.
class Device {
 public:
  // "cpu" is the CPU engine, which needs nothing here. Any other name is a PJRT plugin, which is
  // started for `devices` devices; Error kUsage names its file if that fails. With keys, this
  // process is one of several and the devices are its share. The GPU options apply to plugins with
  // GPUs.
  Device(const std::string& name, int devices, PjrtLogging logging, const GpuOptions& gpu,
         const PjrtProcesses& processes = {});

  // Returns nullptr for the CPU engine, which the Estimator creates itself.
  [[nodiscard]] Backend* backend() const { return backend_.get(); }

 private:
  std::unique_ptr<PjrtClient> client_;
  std::unique_ptr<Backend> backend_;
};

}  // namespace tpuest::cli
