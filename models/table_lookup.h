#pragma once
// The features that look up tables which a job names outside its model (embedding_config_spec's
// table_to_config_dict).

#include "core/estimator/contract/contract.h"
#include "models/build_spec.h"

namespace tpuest::models {

// Returns the inputs with rows instead of the features that look up a table: float32 [B, D], or [B,
// steps, D] and <feature>_seq_length_, int64 [B]. Features that weight them are removed. Each table
// is a variable of its name. Throws Error kUsage for a feature that is missing or does not hold
// integers.
[[nodiscard]] ModelInputs WithTableRows(Graph& graph, const ModelInputs& inputs, Mode mode,
                                        const Params& params, const JobContext& job);

// Returns the tables that a job trains by their own optimizers; empty if it does not run as on a
// TPU.
[[nodiscard]] nn::TableTraining TrainedTables(const Graph& graph, const Params& params,
                                              const JobContext& job);

}  // namespace tpuest::models
