#pragma once
// The step counter that every model and optimizer shares.

#include "core/graph/graph.h"

namespace tpuest::nn {

inline constexpr std::string_view kGlobalStepName = "global_step";

// The variable "global_step", int64 [], not trainable; made with value 0 if there is none.
Variable* GetOrCreateGlobalStep(Graph& graph);

}  // namespace tpuest::nn
