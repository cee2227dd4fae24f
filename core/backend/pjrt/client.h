#pragma once
// A PJRT plugin as a device: buffers, and modules that run on them, a device a core of a replica.
// The plugin's errors become Errors.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/backend/key_values.h"
#include "core/backend/pjrt/plugin.h"
#include "core/tensor/tensor.h"

namespace tpuest {

// A tensor on a device; released with its owner, which does not outlive the client.
class PjrtBuffer {
 public:
  virtual ~PjrtBuffer() = default;
  // A copy, row-major as everywhere on the host. Waits until the buffer is computed; Error kLost.
  [[nodiscard]] virtual Tensor ToHost() const = 0;
};
using PjrtBufferPtr = std::unique_ptr<PjrtBuffer>;

// A compiled module on its devices, those of this process.
class PjrtExecutable {
 public:
  virtual ~PjrtExecutable() = default;
  // arguments[device][i] -> results[device][i]. What the module may use for its results
  // (HloBuilder::Finish) is used up. May return before the results are there. Error kLost,
  // kResource.
  [[nodiscard]] virtual std::vector<std::vector<PjrtBufferPtr>> Execute(
      const std::vector<std::vector<PjrtBuffer*>>& arguments) = 0;
};

// How a module is spread, and what is asked of it.
struct PjrtCompile {
  int replicas = 1;
  int partitions = 1;  // devices that share a replica, of this process
  // The replicas are on the devices of all processes in their order, as many of each.
  bool of_all_processes = false;
  // A GPU's program gives the same bits in each run. Elsewhere programs do so anyway.
  bool is_deterministic = false;
};

class PjrtClient {
 public:
  virtual ~PjrtClient() = default;
  // "cpu", "tpu", "cuda", as the plugin says.
  [[nodiscard]] virtual std::string platform() const = 0;
  // The plugin's own version, as it writes it; empty: it does not say.
  [[nodiscard]] virtual std::string version() const = 0;
  [[nodiscard]] virtual int devices() const = 0;
  // Compiles a StableHLO module (hlo/builder.h). Error kUsage with the plugin's words, at the node
  // that they name; kResource if it cannot fit.
  [[nodiscard]] virtual std::unique_ptr<PjrtExecutable> Compile(const std::string& module,
                                                                const PjrtCompile& how) = 0;
  // A copy on a device of this process: core p of its replica r, counted from its first one, is
  // device r * partitions + p. The tensor may change once this returns.
  [[nodiscard]] virtual PjrtBufferPtr ToDevice(const Tensor& tensor, int device) = 0;
};

// What XLA's GPU plugin is told of the machine's GPUs (xla/pjrt/c/pjrt_c_api_gpu_internal.cc). Its
// own words for it are taken where nothing is said here, and plugins of other devices are not told.
struct PjrtGpuOptions {
  std::optional<bool> preallocate;        // the memory, at the start
  std::optional<double> memory_fraction;  // the most that is taken of it
  std::vector<int64_t> visible_devices;   // by number; empty: all
};

// Starts the plugin in a shared library as the client of one process of several, each with so many
// devices: those of the machine's where the processes share it, else the first ones. libtpu finds
// the others by itself; other plugins are told of them as XLA's GPU plugin is. Errors as PjrtApi's;
// kLost where another process does not come, kUsage where this one has fewer devices.
[[nodiscard]] std::unique_ptr<PjrtClient> LoadPjrtPlugin(const std::string& path,
                                                         const PjrtProcesses& processes,
                                                         int devices, PjrtLogging logging,
                                                         const PjrtGpuOptions& gpu);

// Starts the plugin in a shared library, as one client. `cpu_devices`: how many devices XLA's CPU
// plugin makes; 0: as the plugin has them. Errors as PjrtApi's.
[[nodiscard]] std::unique_ptr<PjrtClient> LoadPjrtPlugin(const std::string& path, int cpu_devices,
                                                         PjrtLogging logging = PjrtLogging::kQuiet,
                                                         const PjrtGpuOptions& gpu = {});

}  // namespace tpuest
