#include "cli/check/row_count_check.h"

#include <optional>
#include <string>
#include <utility>

#include "cli/job/job.h"
#include "core/base/faults.h"
#include "core/base/text.h"

namespace tpuest::cli {
namespace {

constexpr const char* kAdmit = "tpuest.embeddings.admit_after";
constexpr const char* kEvict = "tpuest.embeddings.evict_after_steps";
constexpr const char* kIncremental = "tpuest.embeddings.incremental";

// An Adam optimizer that is not lazy updates every row in every step.
bool MovesAll(const nn::TableOptimizer& optimizer) {
  const auto* const adam = std::get_if<nn::AdamParameters>(&optimizer);
  return adam != nullptr && !adam->lazy_adam;
}

// Returns the key of an optimizer of the spec that updates every row, or "".
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

// Adds the faults of an option `key` that needs to know which rows a step uses or changes; `what`
// says which.
void CheckTablesHaveRows(const Job& job, const std::string& key, const std::string& what,
                         Faults& faults) {
  if (!job.estimator.use_tpu || !job.embedding_config_spec) {
    faults.Say(
        key, fmt::format("only tables of embedding_config_spec on a TPU track which rows {}", what),
        "use_tpu: true and an embedding_config_spec");
    return;
  }
  const nn::EmbeddingConfigSpec& spec = *job.embedding_config_spec;
  if (spec.pipeline_execution_with_tensor_core) {
    faults.Say(key,
               fmt::format(
                   "pipelined tables are updated as a whole, without tracking which rows {}", what),
               "pipeline_execution_with_tensor_core: false");
  }
  if (const std::string mover = MoverOf(spec); !mover.empty()) {
    faults.Say(key, fmt::format("{} updates every row in every step", mover), "lazy_adam: true");
  }
}

// Adds a fault if the number `name` of tpuest.embeddings is too small.
void CheckLeast(const std::string& name, const std::optional<int64_t>& value, int64_t least,
                const std::string& hint, Faults& faults) {
  if (value.value_or(least) >= least) return;
  faults.Say("tpuest.embeddings." + name,
             fmt::format("{} is {}; expected at least {}", name, *value, least), hint);
}

void CheckNumbers(const EmbeddingsOptions& options, Faults& faults) {
  const std::pair<const char*, std::optional<int64_t>> sizes[] = {
      {"whole_table_bytes", options.whole_table_bytes},
      {"shard_bytes", options.shard_bytes},
      {"shared_table_bytes", options.shared_table_bytes},
      {"device_table_bytes", options.device_table_bytes},
      {"max_resident_bytes", options.max_resident_bytes}};
  for (const auto& [name, bytes] : sizes)
    CheckLeast(name, bytes, 0, "the value is a size in bytes", faults);
  CheckLeast("admit_after", options.admit_after, 1, "1 trains a row from its first use", faults);
  CheckLeast("evict_after_steps", options.evict_after_steps, 1, "null keeps every row", faults);
  CheckLeast("incremental", options.incremental, 1, "1 saves whole tables in every checkpoint",
             faults);
}

void CheckIncremental(const Job& job, Faults& faults) {
  const int64_t incremental = job.tpuest.embeddings.incremental;
  if (incremental <= 1) return;
  CheckTablesHaveRows(job, kIncremental, "change", faults);
  if (job.estimator.run_config.checkpoint_format == "checkpoint") {
    faults.Say(kIncremental, "object-based checkpoints always hold whole tables",
               "run_config.checkpoint_format: saver");
  }
}

}  // namespace

std::vector<Fault> CheckRowCounts(const Job& job) {
  const EmbeddingsOptions& options = job.tpuest.embeddings;
  Faults faults;
  CheckNumbers(options, faults);
  CheckIncremental(job, faults);
  if (!options.counts_rows()) return faults.Take();
  const std::string key = options.admit_after > 1 ? kAdmit : kEvict;
  CheckTablesHaveRows(job, key, "are used", faults);
  if (job.estimator.run_config.save_checkpoints_steps.value_or(0) < 1) {
    faults.Say(key,
               "rows are admitted or evicted at multiples of run_config.save_checkpoints_steps, "
               "which the job does not set",
               "save_checkpoints_steps: 1000");
  }
  return faults.Take();
}

}  // namespace tpuest::cli
