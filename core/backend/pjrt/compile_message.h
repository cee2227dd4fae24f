#pragma once
// Maps an XLA compiler's error message about a module to the graph's nodes and the job's lines. The
// module's text contains both as locations (HloBuilder::SetLocation).

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/backend/hlo/scan.h"
#include "core/base/error.h"

namespace tpuest {

// The first node of the module that the message names.
[[nodiscard]] std::optional<NodePlace> FindNode(std::string_view message, std::string_view module);

// A tensor of a program, on one core.
struct LargeTensor {
  int64_t bytes = 0;
  NodePlace of;       // the node that computes it, or the variable or feed
  std::string shape;  // "f32[1024,512]"
};

// A program that does not fit into a core's memory. Sizes are in bytes; 0: not reported.
struct MemoryShortage {
  int64_t needed = 0;
  int64_t available = 0;
  std::vector<LargeTensor> largest;  // the largest first
};

// Parses libtpu's message about insufficient memory (HBM); nullopt for other messages. The largest
// tensors are those in the message, or those of the module if the message lists none.
[[nodiscard]] std::optional<MemoryShortage> FindShortage(std::string_view message,
                                                         std::string_view module);

// The module's largest arguments and results of operations, in descending order, one per node.
// Sizes exclude padding, and some of these values may never be in memory. Omits values that a
// compiler certainly computes at their use: constants, broadcasts, reshapes.
[[nodiscard]] std::vector<LargeTensor> LargestTensors(std::string_view module, size_t count);

// Returns Error kGate: "<what>: needs 20.3 GiB of a core's 15.8 GiB", followed by the largest
// tensors with the job's lines that create them.
[[nodiscard]] Error ShortageError(std::string_view what, const MemoryShortage& shortage);

}  // namespace tpuest
