#include "cli/job/device.h"

#include "cli/job/job.h"
#include "core/base/files.h"

namespace tpuest::cli {
namespace {

// XLA's CPU plugin makes as many devices as it is asked for, others have them.
int CpuDevices(const std::string& plugin, int replicas) {
  return BaseName(plugin).find("cpu") == std::string::npos ? 0 : replicas;
}

}  // namespace

Device::Device(const std::string& name, int replicas, PjrtLogging logging) {
  if (name == "cpu") return;
  const std::string plugin = FindPjrtPlugin(name);
  client_ = LoadPjrtPlugin(plugin, CpuDevices(plugin, replicas), logging);
  backend_ = MakePjrtBackend(*client_);
}

DeviceOptions DeviceOptionsOf(const TpuestOptions& options) {
  const MatmulPrecision precision =
      options.matmul_precision == "highest" ? MatmulPrecision::kHighest
      : options.matmul_precision == "high"  ? MatmulPrecision::kHigh
                                            : MatmulPrecision::kDefault;
  return {.staging_bytes = options.staging_bytes, .matmul_precision = precision};
}

}  // namespace tpuest::cli
