#pragma once
// Runs a compiled module on tensors of the host.

#include <vector>

#include "core/backend/pjrt/client.h"

namespace tpuest {

// Runs arguments[replica][i] and returns results[replica][i].
inline std::vector<std::vector<Tensor>> RunOnHost(
    PjrtClient& client, PjrtExecutable& executable,
    const std::vector<std::vector<Tensor>>& arguments) {
  std::vector<std::vector<PjrtBufferPtr>> buffers(arguments.size());
  std::vector<std::vector<PjrtBuffer*>> lists(arguments.size());
  for (size_t r = 0; r < arguments.size(); ++r) {
    for (const Tensor& tensor : arguments[r]) {
      buffers[r].push_back(client.ToDevice(tensor, static_cast<int>(r)));
      lists[r].push_back(buffers[r].back().get());
    }
  }
  std::vector<std::vector<Tensor>> results(arguments.size());
  const auto outputs = executable.Execute(lists);
  for (size_t r = 0; r < outputs.size(); ++r) {
    for (const PjrtBufferPtr& output : outputs[r]) results[r].push_back(output->ToHost());
  }
  return results;
}

}  // namespace tpuest
