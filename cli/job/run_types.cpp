// The run's options of a job, its columns and its optimizer, as config reads and writes them.
#include "cli/job/job.h"

namespace tpuest::config {
template const Type* TypeOf<nn::FeatureColumns>();
template const Type* TypeOf<std::optional<nn::EmbeddingConfigSpec>>();
template const Type* TypeOf<std::optional<nn::AnyOptimizer>>();
template const Type* TypeOf<RunConfig>();
template const Type* TypeOf<std::optional<WarmStartFrom>>();
template const Type* TypeOf<cli::PredictOptions>();
template const Type* TypeOf<ExportOptions>();
template const Type* TypeOf<cli::TpuestOptions>();
}  // namespace tpuest::config
