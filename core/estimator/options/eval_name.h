#pragma once
// Names of evaluations, which become a part of a folder's name: eval_<name> below model_dir.

#include <string>
#include <string_view>

namespace tpuest {

// What is wrong with such a name; empty: nothing.
[[nodiscard]] std::string FaultOfEvalName(std::string_view name);

}  // namespace tpuest
