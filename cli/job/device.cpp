#include "cli/job/device.h"

#include <algorithm>

#include "cli/job/job.h"
#include "core/base/error.h"
#include "core/kernels/isa/cpu_isa.h"
#include "models/zoo.h"

namespace tpuest::cli {
namespace {

// XLA's CPU plugin creates as many devices as requested; other plugins have a fixed number.
int CpuDevices(const std::string& plugin, int devices) {
  return IsPluginOf("cpu", plugin) ? devices : 0;
}

PjrtGpuOptions ToldOf(const GpuOptions& options) {
  PjrtGpuOptions told;
  if (options.allow_growth) told.preallocate = false;
  told.memory_fraction = options.per_process_gpu_memory_fraction;
  for (const std::string& word : VisibleDevices(options)) {
    told.visible_devices.push_back(std::stoll(word));
  }
  return told;
}

}  // namespace

std::string DeviceName(const std::optional<std::string>& flag, const Job& job) {
  const std::string& name = flag ? *flag : job.tpuest.device;
  return name == "auto" ? "cpu" : name;
}

bool SpansProcesses(const std::string& device) {
  return device == "cpu" || !IsPluginOf("cpu", device);
}

Device::Device(const std::string& name, int devices, PjrtLogging logging, const GpuOptions& gpu,
               const PjrtProcesses& processes) {
  if (name == "cpu") return;
  const std::string plugin = FindPjrtPlugin(name);
  const PjrtGpuOptions told = ToldOf(gpu);
  client_ = processes.keys == nullptr
                ? LoadPjrtPlugin(plugin, CpuDevices(plugin, devices), logging, told)
                : LoadPjrtPlugin(plugin, processes, devices, logging, told);
  backend_ = MakePjrtBackend(*client_);
}

void ChooseCpuIsa(const Job& job, bool computes_here) {
  const std::string& name = job.tpuest.cpu_isa;
  if (name != "native") {
    const std::vector<CpuIsa> isas = CpuIsas();
    const auto isa =
        std::find_if(isas.begin(), isas.end(), [&](CpuIsa each) { return NameOf(each) == name; });
    if (isa == isas.end()) {
      std::string names = "native";
      for (const CpuIsa each : isas) names += fmt::format(", {}", NameOf(each));
      throw Error(Code::kUsage, fmt::format("this processor does not support {}", name),
                  "it supports: " + names)
          .Key("tpuest.cpu_isa");
    }
    PinCpuIsa(*isa);
  }
  if (!computes_here || !models::ComputesInBfloat16(job.model)) return;
  try {
    NeedBfloat16();
  } catch (Error& error) {
    throw std::move(error).Key("model.precision");
  }
}

DeviceOptions DeviceOptionsOf(const TpuestOptions& options) {
  const MatmulPrecision precision =
      options.matmul_precision == "highest" ? MatmulPrecision::kHighest
      : options.matmul_precision == "high"  ? MatmulPrecision::kHigh
                                            : MatmulPrecision::kDefault;
  return {.staging_bytes = options.staging_bytes,
          .matmul_precision = precision,
          .table_bytes = options.embeddings.device_table_bytes,
          .deterministic_ops = options.deterministic_ops};
}

}  // namespace tpuest::cli
