#pragma once
// Compiles for devices that are not there: a plugin that knows how its devices are put together
// (libtpu) needs none to compile.

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
  std::string version;   // of the plugin, as it says
  std::string kind;      // "TPU v5 lite"
  int cores = 0;         // devices
  // Bytes of one core: its memory (TpuMemoryBytes; 0: not known), and what the plugin lets programs
  // have of it (0: not said).
  int64_t memory = 0;
  int64_t limit = 0;
};

// The memory that a program takes on one core, in bytes.
struct CompiledSize {
  int64_t code = 0;
  int64_t arguments = 0;
  int64_t outputs = 0;
  int64_t aliased = 0;  // of the arguments, used again for outputs
  int64_t temporaries = 0;
  int64_t peak = 0;  // 0: not said
  // The plugin's estimate of one run, where it gives one; a loop's body is counted once.
  std::optional<double> flops;
  std::optional<double> bytes_accessed;
  // There: the program does not fit, and nothing else is known (ShortageError).
  std::optional<MemoryShortage> shortage;
};

class PjrtTopology {
 public:
  virtual ~PjrtTopology() = default;
  [[nodiscard]] virtual const TopologyInfo& info() const = 0;
  // Compiles a StableHLO module (hlo/builder.h) for so many replicas, each on so many cores of its
  // own. Error kUsage with the plugin's words, at the place in the job of the node that they name.
  [[nodiscard]] virtual CompiledSize Compile(const std::string& module, int replicas,
                                             int partitions = 1) = 0;
  // The bytes that an argument takes on a core as its devices lay it out: with padding. TPUs keep
  // tiles of 8 x 128 numbers. 0 where it does not fit.
  [[nodiscard]] virtual int64_t ArgumentBytes(DType dtype, const Shape& shape) = 0;
};

// A topology by the plugin's name for it: for libtpu a TPU and its chips in each direction,
// "v5e:2x2", "v4:2x2x1". Errors kUsage: PjrtApi's, and one that names a topology that there is not.
[[nodiscard]] std::unique_ptr<PjrtTopology> OpenTopology(const std::string& path,
                                                         const std::string& name,
                                                         PjrtLogging logging = PjrtLogging::kQuiet);

}  // namespace tpuest
