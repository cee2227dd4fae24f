#pragma once
// Compiles for devices that this machine does not have: a plugin that knows the topology of its
// devices (libtpu) needs no device to compile.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "core/backend/pjrt/compile_message.h"
#include "core/backend/pjrt/plugin.h"
#include "core/tensor/tensor.h"

namespace tpuest {

struct TopologyInfo {
  std::string name;      // "v5e:2x2"
  std::string platform;  // "tpu"
  std::string version;   // the plugin's version, in its own words
  std::string kind;      // "TPU v5 lite"
  int cores = 0;         // devices
  // Bytes per core: its memory (TpuMemoryBytes; 0: not known), and the part that programs may use
  // (0: not reported).
  int64_t memory = 0;
  int64_t limit = 0;
};

// The memory that a program takes on one core, in bytes.
struct CompiledSize {
  int64_t code = 0;
  int64_t arguments = 0;
  int64_t outputs = 0;
  int64_t aliased = 0;  // arguments whose memory is reused for outputs
  int64_t temporaries = 0;
  int64_t peak = 0;  // 0: not reported
  // The plugin's estimate for one run, if it has one; a loop's body is counted once.
  std::optional<double> flops;
  std::optional<double> bytes_accessed;
  // Set if the program does not fit; then all other fields are unset (ShortageError).
  std::optional<MemoryShortage> shortage;
};

class PjrtTopology {
 public:
  virtual ~PjrtTopology() = default;
  [[nodiscard]] virtual const TopologyInfo& info() const = 0;
  // Compiles a StableHLO module (hlo/builder.h) for `replicas` replicas on `partitions` cores each.
  // Throws kUsage with the plugin's message, at the job's line of the node that it names.
  [[nodiscard]] virtual CompiledSize Compile(const std::string& module, int replicas,
                                             int partitions = 1) = 0;
  // The bytes of an argument on a core, including the padding of the device's layout (TPUs use
  // tiles of 8 x 128 numbers); 0 if it does not fit.
  [[nodiscard]] virtual int64_t ArgumentBytes(DType dtype, const Shape& shape) = 0;
};

// Opens a topology by the plugin's name for it; for libtpu a TPU generation and its chips in each
// direction: "v5e:2x2", "v4:2x2x1". Throws PjrtApi's errors, and kUsage for an unknown topology.
[[nodiscard]] std::unique_ptr<PjrtTopology> OpenTopology(const std::string& path,
                                                         const std::string& name,
                                                         PjrtLogging logging = PjrtLogging::kQuiet);

}  // namespace tpuest
