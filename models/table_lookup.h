#pragma once
// The features that look up tables which a job names beside its model (embedding_config_spec's
// table_to_config_dict).

#include "core/estimator/contract/contract.h"
#include "models/build_spec.h"

namespace tpuest::models {

// The inputs with rows in the place of the features that look up a table: float32 [B, D], or [B,
// steps, D] and <feature>_seq_length_, int64 [B]. Features that weigh them are no inputs any more.
// Tables are variables of their names. Throws Error kUsage for a feature that is not there or holds
// no whole numbers.
[[nodiscard]] ModelInputs WithTableRows(Graph& graph, const ModelInputs& inputs, Mode mode,
                                        const Params& params, const JobContext& job);

// The tables that a job trains by optimizers of their own; none where it does not run as on a TPU.
[[nodiscard]] nn::TableTraining TrainedTables(const Graph& graph, const Params& params,
                                              const JobContext& job);

}  // namespace tpuest::models
