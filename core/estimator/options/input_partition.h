#pragma once
// TPUConfig's input_partition_dims: how the cores of a replica share its batch.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace tpuest {

// The number of parts into which each dimension of a tensor [batch of a replica, ...] is split;
// null: every core of the replica has the whole tensor.
using PartitionDims = std::optional<std::vector<int64_t>>;

// The dims of features or of labels: for one tensor, or by name.
using InputPartition = std::variant<std::vector<int64_t>, std::map<std::string, PartitionDims>>;

// [features] or [features, labels].
using InputPartitionDims = std::vector<std::optional<InputPartition>>;

// "[[1, 2, 2, 1], None]" or "None", as Python prints it.
[[nodiscard]] std::string PythonText(const std::vector<int64_t>& dims);
[[nodiscard]] std::string PythonText(const InputPartition& partition);
[[nodiscard]] std::string PythonText(const std::optional<InputPartitionDims>& dims);

}  // namespace tpuest
