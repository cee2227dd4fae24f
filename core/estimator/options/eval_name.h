#pragma once
// Names of evaluations, which become part of a folder's name: eval_<name> below model_dir.

#include <string>
#include <string_view>

namespace tpuest {

// Returns what is wrong with such a name, or "".
[[nodiscard]] std::string FaultOfEvalName(std::string_view name);

}  // namespace tpuest
