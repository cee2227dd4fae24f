#include "cli/check/column_check.h"

#include <algorithm>
#include <optional>
#include <set>
#include <string>

#include "cli/job/job.h"
#include "core/base/faults.h"

namespace tpuest::cli {
namespace {

// InputPipelineConfig's number of a per_host_input_for_training, as TensorFlow prints it.
int NumberOf(const InputPipelineConfig& config) {
  constexpr std::string_view kNames[] = {"PER_SHARD_V1", "PER_HOST_V1", "PER_HOST_V2", "BROADCAST",
                                         "SLICED"};
  if (const auto* const per_host = std::get_if<bool>(&config)) return *per_host ? 2 : 1;
  const auto* const found =
      std::find(std::begin(kNames), std::end(kNames), std::get<std::string>(config));
  return 1 + static_cast<int>(found - std::begin(kNames));
}

class ColumnCheck {
 public:
  explicit ColumnCheck(const Job& job) : job_(job) {}

  std::vector<Fault> Run() {
    const std::vector<Fault> faults = nn::ColumnSet(job_.feature_columns).Faults();
    faults_.AddAll(faults);
    if (!faults.empty()) return faults_.Take();
    faults_.Catch([&] {
      const auto used = models::ColumnsOf(job_.model, job_.feature_columns);
      if (job_.embedding_config_spec) {
        CheckTables(*job_.embedding_config_spec, used);
      } else if (job_.estimator.use_tpu && used) {
        CheckNoTables(*used);
      }
      if (!used) return;
      const auto lists = nn::ColumnSet(job_.feature_columns).ReadAsLists(*used);
      for (const auto& [name, options] : job_.input_fns) CheckSparse(lists, name, options);
    });
    return faults_.Take();
  }

 private:
  // Where a SparseFeature has no value a category would be.
  void CheckSparse(const std::set<std::string>& lists, const std::string& input_fn,
                   const data::InputFnOptions& options) {
    for (const auto& [name, feature] : options.parse_example) {
      const auto* const sparse = std::get_if<data::SparseFeature>(&feature);
      if (sparse == nullptr || sparse->dtype != "int64" || sparse->default_value) continue;
      if (!lists.contains(name)) continue;
      faults_.Say(fmt::format("input_fns.{}.parse_example.{}", input_fn, name),
                  "missing values become 0, which the categorical column takes for category 0",
                  fmt::format("default_value: -1 marks them as missing; {{type: RaggedFeature, "
                              "value_key: {}, dtype: int64}} has only the given values",
                              sparse->value_key));
    }
  }

  void CheckTables(const nn::EmbeddingConfigSpec& spec,
                   const std::optional<std::vector<nn::ColumnRef>>& used) {
    const EstimatorOptions& options = job_.estimator;
    const TpuConfig& tpu = options.run_config.tpu_config;
    const int input = NumberOf(tpu.per_host_input_for_training);
    if (options.use_tpu && input != 2 && input != 3) {
      faults_.Say("run_config.tpu_config.per_host_input_for_training",
                  fmt::format("Only PER_HOST_V1 and PER_HOST_V2 is supported when using TPU "
                              "Embedding; got {}.",
                              input),
                  "per_host_input_for_training: PER_HOST_V2");
    }
    if (tpu.num_shards.value_or(0) == 1 && !tpu.num_cores_per_replica) {
      faults_.Say("run_config.tpu_config.num_shards",
                  "Setting TPUConfig.num_shards==1 is unsupported when embedding_config_spec is "
                  "not None.",
                  "num_shards: 8, or use_tpu: false without num_shards");
    }
    faults_.Expect(!options.use_tpu || options.run_config.checkpoint_format != "checkpoint",
                   "run_config.checkpoint_format",
                   "object-based checkpoints cannot hold the slots of tables",
                   "checkpoint_format: saver");
    faults_.AddAll(nn::CheckSpec(spec, {.columns = nn::ColumnSet(job_.feature_columns),
                                        .use_tpu = options.use_tpu,
                                        .eval_on_tpu = options.eval_on_tpu.value_or(true),
                                        .used = used}));
  }

  // On a TPU only a spec's tables are looked up.
  void CheckNoTables(const std::vector<nn::ColumnRef>& used) {
    for (const nn::ColumnRef& column : used) {
      const nn::FeatureColumn& options = job_.feature_columns.at(column.job_name);
      if (!nn::IsTable(options)) continue;
      faults_.Add({.message = fmt::format("'{}' is a TPU embedding column, but the job has no "
                                          "embedding_config_spec for its table",
                                          column.job_name),
                   .hint = fmt::format("embedding_config_spec: {{feature_columns: [{}], "
                                       "optimization_parameters: {{type: AdagradParameters, "
                                       "learning_rate: 0.1}}}}",
                                       column.job_name),
                   .place = nn::PlaceOf(options)});
      return;
    }
  }

  const Job& job_;
  Faults faults_;
};

}  // namespace

std::vector<Fault> CheckColumns(const Job& job) { return ColumnCheck(job).Run(); }

}  // namespace tpuest::cli
