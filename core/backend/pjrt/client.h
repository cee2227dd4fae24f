#pragma once
// A PJRT plugin: buffers on its devices, and compiled modules that run on them. Each core of a
// replica is one device. The plugin's errors become Errors.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/backend/key_values.h"
#include "core/backend/pjrt/plugin.h"
#include "core/tensor/tensor.h"

namespace tpuest {

// A tensor on a device. Its owner must not outlive the client.
class PjrtBuffer {
 public:
  virtual ~PjrtBuffer() = default;
  // Waits until the buffer is computed and returns a row-major copy. Throws kLost.
  [[nodiscard]] virtual Tensor ToHost() const = 0;
};
using PjrtBufferPtr = std::unique_ptr<PjrtBuffer>;

// A compiled module, loaded on this process's devices.
class PjrtExecutable {
 public:
  virtual ~PjrtExecutable() = default;
  // Runs the module: arguments[device][i] -> results[device][i]. Consumes arguments that the module
  // may reuse for its results (HloBuilder::Finish). May return before the results are computed.
  // Throws kLost, kResource.
  [[nodiscard]] virtual std::vector<std::vector<PjrtBufferPtr>> Execute(
      const std::vector<std::vector<PjrtBuffer*>>& arguments) = 0;
};

// Options for compiling a module.
struct PjrtCompile {
  int replicas = 1;
  int partitions = 1;  // devices per replica, all of one process
  // True: the replicas are on the devices of all processes in order, equally many on each.
  bool of_all_processes = false;
  // True: a GPU's program returns the same bits in each run; programs of other devices always do.
  bool is_deterministic = false;
};

class PjrtClient {
 public:
  virtual ~PjrtClient() = default;
  // The plugin's name of its platform: "cpu", "tpu", "cuda".
  [[nodiscard]] virtual std::string platform() const = 0;
  // The plugin's version in its own words; empty: not reported.
  [[nodiscard]] virtual std::string version() const = 0;
  [[nodiscard]] virtual int devices() const = 0;
  // Compiles a StableHLO module (hlo/builder.h). Throws kUsage with the plugin's message, at the
  // node that it names; kResource if the program does not fit into memory.
  [[nodiscard]] virtual std::unique_ptr<PjrtExecutable> Compile(const std::string& module,
                                                                const PjrtCompile& how) = 0;
  // Copies a tensor to a device of this process. Core p of this process's r-th replica is device r
  // * partitions + p. The tensor may change after the call.
  [[nodiscard]] virtual PjrtBufferPtr ToDevice(const Tensor& tensor, int device) = 0;
};

// Options of XLA's GPU plugin (xla/pjrt/c/pjrt_c_api_gpu_internal.cc). Unset options keep the
// plugin's defaults; plugins of other devices do not receive them.
struct PjrtGpuOptions {
  std::optional<bool> preallocate;        // allocate the memory at the start
  std::optional<double> memory_fraction;  // maximum fraction of the memory
  std::vector<int64_t> visible_devices;   // device numbers; empty: all
};

// Starts the plugin in a shared library as the client of one of several processes, each with
// `devices` devices: its part of the machine's if the processes share the machine, otherwise the
// first ones. libtpu finds the other processes by itself; other plugins receive them in the options
// of XLA's GPU plugin. Throws PjrtApi's errors; kLost if another process does not join; kUsage if
// this process has too few devices.
[[nodiscard]] std::unique_ptr<PjrtClient> LoadPjrtPlugin(const std::string& path,
                                                         const PjrtProcesses& processes,
                                                         int devices, PjrtLogging logging,
                                                         const PjrtGpuOptions& gpu);

// Starts the plugin in a shared library for a single process. `cpu_devices`: number of devices that
// XLA's CPU plugin creates; 0: the plugin's default. Throws PjrtApi's errors.
[[nodiscard]] std::unique_ptr<PjrtClient> LoadPjrtPlugin(const std::string& path, int cpu_devices,
                                                         PjrtLogging logging = PjrtLogging::kQuiet,
                                                         const PjrtGpuOptions& gpu = {});

}  // namespace tpuest
