#pragma once
// Brings what an XLA compiler says when it refuses a module back to the graph's nodes and the job's
// lines. The module's text holds both as locations (HloBuilder::SetLocation).

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
  NodePlace of;       // the node that makes it, or the variable or feed
  std::string shape;  // "f32[1024,512]"
};

// A program that does not fit into a core's memory. Bytes; 0: not said.
struct MemoryShortage {
  int64_t needed = 0;
  int64_t available = 0;
  std::vector<LargeTensor> largest;  // the largest first
};

// Reads the message of libtpu about memory (HBM) that is too small; nullopt if it is about anything
// else. The largest tensors are those that it lists; where it lists none, those of the module.
[[nodiscard]] std::optional<MemoryShortage> FindShortage(std::string_view message,
                                                         std::string_view module);

// The module's arguments and results of operations, the largest first, one a node: without padding,
// and with what a compiler may not keep in memory. Left out is what it surely computes where it is
// used: constants, broadcasts, reshapes.
[[nodiscard]] std::vector<LargeTensor> LargestTensors(std::string_view module, size_t count);

// Error kGate: "<what>: needs 20.3 GiB of a core's 15.8 GiB", then each of the largest tensors with
// the line of the job that makes it.
[[nodiscard]] Error ShortageError(std::string_view what, const MemoryShortage& shortage);

}  // namespace tpuest
