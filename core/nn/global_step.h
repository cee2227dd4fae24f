#pragma once
// The step counter that every model and optimizer shares.

#include "core/graph/graph.h"

namespace tpuest::nn {

inline constexpr std::string_view kGlobalStepName = "global_step";

// Returns the variable "global_step", int64 [], not trainable. Makes it with value 0 if it does not
// exist.
Variable* GetOrCreateGlobalStep(Graph& graph);

}  // namespace tpuest::nn
