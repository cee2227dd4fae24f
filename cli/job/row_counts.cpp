#include "cli/job/row_counts.h"

#include <string>

#include "cli/job/job.h"
#include "core/base/faults.h"
#include "core/base/text.h"

namespace tpuest::cli {
namespace {

constexpr const char* kAdmit = "tpuest.embeddings.admit_after";
constexpr const char* kEvict = "tpuest.embeddings.evict_after_steps";

// Such an Adam moves every row in every step.
bool MovesAll(const nn::TableOptimizer& optimizer) {
  const auto* const adam = std::get_if<nn::AdamParameters>(&optimizer);
  return adam != nullptr && !adam->lazy_adam;
}

// The optimizer of a spec that moves every row, with its key, or "".
std::string MoverOf(const nn::EmbeddingConfigSpec& spec) {
  for (const auto& [name, table] : spec.table_to_config_dict) {
    const auto& optimizer = table.optimization_parameters;
    if (optimizer && MovesAll(*optimizer)) {
      return fmt::format("embedding_config_spec.table_to_config_dict.{}.optimization_parameters",
                         name);
    }
  }
  const auto& optimizer = spec.optimization_parameters;
  return optimizer && MovesAll(*optimizer) ? "embedding_config_spec.optimization_parameters" : "";
}

void CheckTablesHaveRows(const Job& job, const std::string& key, Faults& faults) {
  if (!job.estimator.use_tpu || !job.embedding_config_spec) {
    faults.Say(key, "rows are counted of the tables of embedding_config_spec on a TPU alone",
               "use_tpu: true and an embedding_config_spec");
    return;
  }
  const nn::EmbeddingConfigSpec& spec = *job.embedding_config_spec;
  if (spec.pipeline_execution_with_tensor_core) {
    faults.Say(key, "pipelined tables are updated whole, and their rows are not counted",
               "pipeline_execution_with_tensor_core: false");
  }
  if (const std::string mover = MoverOf(spec); !mover.empty()) {
    faults.Say(key, fmt::format("{} moves every row in every step, and counts none", mover),
               "lazy_adam: true");
  }
}

}  // namespace

std::vector<Fault> CheckRowCounts(const Job& job) {
  const EmbeddingsOptions& options = job.tpuest.embeddings;
  Faults faults;
  if (options.admit_after < 1) {
    faults.Say(kAdmit, fmt::format("admit_after is {}; expected at least 1", options.admit_after),
               "1 trains a row from its first sight on");
  }
  if (options.evict_after_steps && *options.evict_after_steps < 1) {
    faults.Say(
        kEvict,
        fmt::format("evict_after_steps is {}; expected at least 1", *options.evict_after_steps),
        "null forgets no row");
  }
  if (!options.counts_rows()) return faults.Take();
  const std::string key = options.admit_after > 1 ? kAdmit : kEvict;
  CheckTablesHaveRows(job, key, faults);
  if (job.estimator.run_config.save_checkpoints_steps.value_or(0) < 1) {
    faults.Say(key,
               "which rows are trained or forgotten is decided at the multiples of "
               "run_config.save_checkpoints_steps, which is not given",
               "save_checkpoints_steps: 1000");
  }
  return faults.Take();
}

}  // namespace tpuest::cli
