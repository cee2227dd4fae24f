#include "core/estimator/options/input_partition.h"

#include <fmt/format.h>

#include "core/base/text.h"

namespace tpuest {

std::string PythonText(const std::vector<int64_t>& dims) {
  std::vector<std::string> texts;
  for (const int64_t dim : dims) texts.push_back(std::to_string(dim));
  return fmt::format("[{}]", Join(texts, ", "));
}

std::string PythonText(const InputPartition& partition) {
  if (const auto* const dims = std::get_if<std::vector<int64_t>>(&partition)) {
    return PythonText(*dims);
  }
  std::vector<std::string> texts;
  for (const auto& [name, dims] : std::get<std::map<std::string, PartitionDims>>(partition)) {
    texts.push_back(fmt::format("'{}': {}", name, dims ? PythonText(*dims) : "None"));
  }
  return fmt::format("{{{}}}", Join(texts, ", "));
}

std::string PythonText(const std::optional<InputPartitionDims>& dims) {
  if (!dims) return "None";
  std::vector<std::string> texts;
  for (const std::optional<InputPartition>& each : *dims) {
    texts.push_back(each ? PythonText(*each) : "None");
  }
  return fmt::format("[{}]", Join(texts, ", "));
}

}  // namespace tpuest
