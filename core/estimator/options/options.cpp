#include "core/estimator/options/options.h"

#include <algorithm>
#include <filesystem>
#include <limits>
#include <string_view>

#include "core/base/faults.h"
#include "core/base/text.h"
#include "core/sharding/batch_size.h"

namespace tpuest {
namespace {

constexpr std::string_view kInputModes[] = {"PER_SHARD_V1", "PER_HOST_V1", "PER_HOST_V2",
                                            "BROADCAST", "SLICED"};
constexpr std::string_view kStrategies[] = {"MirroredStrategy", "MultiWorkerMirroredStrategy",
                                            "CentralStorageStrategy"};

constexpr std::string_view kReservedParams[] = {"batch_size", "context"};

constexpr std::string_view kIterationsPerLoop =
    "Invalid TPUConfig `iterations_per_loop` value. Value must be positive integer value or "
    "time-based value `<N><s|m|h>` where <N> is anypositive integer and `s`, `m`, `h` are unit of "
    "time in seconds, minutes, hours respectively. Examples of valid values: `3600s`, `60m`, "
    "`1h`.";

// Rows of a batch are counted in 32 bits, because TensorFlow's ops have shapes of int32.
void CheckRows(const std::optional<int64_t>& value, std::string_view name, Faults& faults) {
  constexpr int64_t kMost = std::numeric_limits<int32_t>::max();
  faults.ExpectPositive(value, name, name);
  faults.Expect(value.value_or(0) <= kMost, name,
                fmt::format("{} must be at most {}, got {}", name, kMost, value.value_or(0)));
}

bool IsNatural(const std::optional<int64_t>& value) { return value.value_or(0) >= 0; }

constexpr int kMostCoresOfReplica = 128;

bool IsCountOfCores(int cores) {
  return cores > 0 && cores <= kMostCoresOfReplica && (cores & (cores - 1)) == 0;
}

// The rules of TPUConfig, in its order, and of TPUContext for the cores of a replica.
void CheckPartitions(const TpuConfig& config, Faults& faults) {
  const std::string key = "run_config.tpu_config.";
  const auto* const mode = std::get_if<std::string>(&config.per_host_input_for_training);
  const bool per_host_v2 = mode != nullptr && *mode == "PER_HOST_V2";
  if (const std::optional<InputPartitionDims>& dims = config.input_partition_dims) {
    const std::string at = key + "input_partition_dims";
    faults.Expect(dims->size() == 1 || dims->size() == 2, at,
                  "input_partition_dims must be a list/tuple with one or two elements.",
                  "[features] or [features, labels]");
    faults.Expect(per_host_v2, at, "input_partition_dims is only supported in PER_HOST_V2 mode.",
                  "per_host_input_for_training: PER_HOST_V2");
    faults.Expect(config.num_cores_per_replica.has_value(), at,
                  "input_partition_dims requires setting num_cores_per_replica.",
                  "num_cores_per_replica: 4");
    faults.Expect(dims->empty() || dims->front().has_value(), at,
                  "input_partition_dims[0] must not be None",
                  "null marks a tensor that every core gets whole: [{image: null}]");
  }
  if (!config.num_cores_per_replica) return;
  const int cores = *config.num_cores_per_replica;
  const std::string at = key + "num_cores_per_replica";
  if (!IsCountOfCores(cores)) {
    faults.Say(at, fmt::format("num_cores_per_replica must be 1, 2, 4, 8, 16, 32, 64, 128; got {}",
                               cores));
    return;
  }
  faults.Expect(per_host_v2 || cores <= kDefaultNumShards, at,
                fmt::format("Except the PER_HOST_V2 mode, the num of cores required by model "
                            "parallelism specified by TPUConfig.num_cores_per_replica should be "
                            "less than or equal to the num_cores_per_host. num_cores_per_replica: "
                            "{}, num_cores_per_host: {}",
                            cores, kDefaultNumShards),
                "per_host_input_for_training: PER_HOST_V2");
}

void CheckTpuConfig(const TpuConfig& config, Faults& faults) {
  const std::string key = "run_config.tpu_config.";
  faults.Expect(config.loop.has_value(), key + "iterations_per_loop",
                std::string(kIterationsPerLoop), "auto follows the periods of saving and logging");
  faults.ExpectPositive(config.num_shards, key + "num_shards", "TPUConfig num_shards");
  CheckPartitions(config, faults);
  const std::string& in_eval = config.eval_training_input_configuration;
  faults.Expect(
      in_eval == "PER_HOST_V1" || in_eval == "SLICED", key + "eval_training_input_configuration",
      fmt::format("eval_training_input_configuration must be PER_HOST_V1 or SLICED; got {}",
                  in_eval));
  if (const auto* const mode = std::get_if<std::string>(&config.per_host_input_for_training)) {
    const bool known =
        std::find(std::begin(kInputModes), std::end(kInputModes), *mode) != std::end(kInputModes);
    faults.Expect(known, key + "per_host_input_for_training",
                  fmt::format("'{}' is not a valid InputPipelineConfig", *mode),
                  "true, false, PER_SHARD_V1, PER_HOST_V1, PER_HOST_V2, BROADCAST or SLICED");
  }
  faults.Expect(config.experimental_host_call_every_n_steps > 0,
                key + "experimental_host_call_every_n_steps",
                fmt::format("experimental_host_call_every_n_steps must be positive, got {}",
                            config.experimental_host_call_every_n_steps));
}

void CheckSaving(const RunConfig& config, Faults& faults) {
  const bool both = config.save_checkpoints_steps && config.save_checkpoints_secs;
  faults.Expect(!both, "run_config.save_checkpoints_secs",
                "`save_checkpoints_steps` and `save_checkpoints_secs` cannot be both set.",
                "leave one of them out");
  faults.Expect(IsNatural(config.save_checkpoints_steps), "run_config.save_checkpoints_steps",
                "save_checkpoints_steps should be >= 0");
  faults.Expect(IsNatural(config.save_checkpoints_secs), "run_config.save_checkpoints_secs",
                "save_checkpoints_secs should be >= 0");
  faults.Expect(config.keep_checkpoint_max.value_or(0) >= 0, "run_config.keep_checkpoint_max",
                "keep_checkpoint_max should be >= 0");
  faults.Expect(config.keep_checkpoint_every_n_hours > 0,
                "run_config.keep_checkpoint_every_n_hours",
                "keep_checkpoint_every_n_hours should be > 0");
}

void CheckKeepBest(const RunConfig& config, Faults& faults) {
  if (!config.keep_best) return;
  faults.Expect(config.keep_best->n > 0, "run_config.keep_best.n",
                fmt::format("keep_best.n must be positive, got {}", config.keep_best->n));
}

void CheckMirror(const RunConfig& config, Faults& faults) {
  if (!config.mirror) return;
  faults.Expect(!config.mirror->empty(), "run_config.mirror", "mirror should be non-empty",
                "remove it to copy nothing");
  if (!config.model_dir) {
    faults.Expect(false, "run_config.mirror", "mirror copies a model_dir, but there is none",
                  "model_dir: DIR, on this machine");
    return;
  }
  // A folder's path with exactly one slash at its end.
  const auto folder = [](const std::string& path) {
    std::string plain = std::filesystem::absolute(path).lexically_normal().string();
    return plain.ends_with('/') ? plain : plain + "/";
  };
  const std::string here = folder(*config.model_dir);
  const std::string there = folder(*config.mirror);
  faults.Expect(!here.starts_with(there) && !there.starts_with(here), "run_config.mirror",
                fmt::format("one of mirror ({}) and model_dir ({}) contains the other",
                            *config.mirror, *config.model_dir),
                "choose a folder outside");
}

void CheckGpu(const GpuOptions& options, Faults& faults) {
  const std::string key = "run_config.session_config.gpu_options";
  const double fraction = options.per_process_gpu_memory_fraction.value_or(1);
  faults.Expect(fraction > 0 && fraction <= 1, key + ".per_process_gpu_memory_fraction",
                "per_process_gpu_memory_fraction should be in (0, 1]");
  for (const std::string& word : VisibleDevices(options)) {
    const bool is_number =
        !word.empty() && word.size() < 10 &&
        std::all_of(word.begin(), word.end(), [](char c) { return c >= '0' && c <= '9'; });
    faults.Expect(is_number, key + ".visible_device_list",
                  fmt::format("'{}' is not the number of a GPU", word), "for example \"0,2\"");
  }
}

void CheckRunConfig(const RunConfig& config, Faults& faults) {
  faults.Expect(!config.model_dir || !config.model_dir->empty(), "run_config.model_dir",
                "model_dir should be non-empty", "remove it to use a temporary folder");
  CheckMirror(config, faults);
  faults.Expect(config.save_summary_steps.value_or(0) >= 0, "run_config.save_summary_steps",
                "save_summary_steps should be >= 0");
  CheckSaving(config, faults);
  CheckKeepBest(config, faults);
  faults.Expect(config.log_step_count_steps.value_or(1) > 0, "run_config.log_step_count_steps",
                "log_step_count_steps should be > 0", "null disables logging");
  CheckGpu(config.session_config.gpu_options, faults);
  faults.Expect(config.session_config.intra_op_parallelism_threads >= 0,
                "run_config.session_config.intra_op_parallelism_threads",
                "intra_op_parallelism_threads should be >= 0", "0 uses every core");
}

void CheckStrategy(const std::optional<DistributionStrategy>& strategy, bool use_tpu,
                   const std::string& key, Faults& faults) {
  if (!strategy) return;
  const std::string& type = strategy->type;
  if (type.find("ParameterServerStrategy") != std::string::npos) {
    faults.Say(key + ".type",
               type +
                   " is not supported: workers that update variables independently never give the "
                   "same bits twice",
               "use MultiWorkerMirroredStrategy, which sums the gradients of all workers at each "
               "step; train large tables by rows with use_tpu: true and embedding_config_spec, "
               "whose pipeline_execution_with_tensor_core always lags by exactly one step");
  } else if (type == "TPUStrategy" || type == "OneDeviceStrategy") {
    faults.Expect(false, key + ".type", fmt::format("{} cannot be named here", type),
                  type == "TPUStrategy" ? "use_tpu: true, and run_config.tpu_config"
                                        : "without a strategy there is one replica");
  } else if (std::find(std::begin(kStrategies), std::end(kStrategies), type) ==
             std::end(kStrategies)) {
    faults.Expect(false, key + ".type",
                  fmt::format("'{}' is not a supported strategy of tf.distribute", type),
                  "use MirroredStrategy, MultiWorkerMirroredStrategy or CentralStorageStrategy");
  }
  faults.Expect(strategy->replicas() > 0, key + ".num_replicas",
                fmt::format("num_replicas must be positive, got {}", strategy->replicas()));
  faults.Expect(!use_tpu, key,
                fmt::format("{} requires use_tpu: false", key.substr(key.rfind('.') + 1)),
                "on TPU, tpu_config.num_shards sets the number of replicas that share the batch");
}

void CheckReplicas(const EstimatorOptions& options, Faults& faults) {
  const RunConfig& config = options.run_config;
  CheckStrategy(config.train_distribute, options.use_tpu, "run_config.train_distribute", faults);
  CheckStrategy(config.eval_distribute, options.use_tpu, "run_config.eval_distribute", faults);
  faults.Expect(
      options.use_tpu || config.tpu_config.eval_training_input_configuration != "SLICED",
      "run_config.tpu_config.eval_training_input_configuration",
      "Invalid TPUConfig `eval_training_input_configuration` value. SLICED mode only works on "
      "use_tpu = True.");
}

// "{'batch_size': 1, 'rate': 0.1}", as Python prints a dict.
std::string ParamsText(const std::map<std::string, Raw>& params) {
  std::vector<std::string> items;
  for (const auto& [name, value] : params)
    items.push_back(fmt::format("'{}': {}", name, value.text));
  return fmt::format("{{{}}}", Join(items, ", "));
}

void CheckParams(const EstimatorOptions& options, Faults& faults) {
  for (const std::string_view reserved : kReservedParams) {
    if (!options.params.contains(std::string(reserved))) continue;
    faults.Expect(
        false, fmt::format("params.{}", reserved),
        fmt::format("['batch_size', 'context'] are reserved keys but existed in params {}.",
                    ParamsText(options.params)),
        "give it another name");
    return;
  }
}

void CheckSteps(const std::optional<int64_t>& value, std::string_view name,
                std::string_view section, Faults& faults) {
  if (!value) return;
  faults.Expect(*value > 0, fmt::format("{}.{}", section, name),
                fmt::format("Must specify {} > 0, given: {}", name, *value));
}

}  // namespace

std::vector<std::string> VisibleDevices(const GpuOptions& options) {
  if (options.visible_device_list.empty()) return {};
  return Split(options.visible_device_list, ',');
}

void RunConfig::Resolve() {
  const bool has_steps = save_checkpoints_steps.is_given();
  const bool has_secs = save_checkpoints_secs.is_given();
  if (!has_steps) save_checkpoints_steps.reset();
  if (!has_secs) save_checkpoints_secs.reset();
  if (!has_steps && !has_secs) save_checkpoints_secs = 600;
  tpu_config.loop = ParseIterationsPerLoop(tpu_config.iterations_per_loop);
}

int ReplicasOf(const EstimatorOptions& options) {
  const RunConfig& config = options.run_config;
  if (options.use_tpu) {
    const int of_board = kDefaultNumShards / std::max(config.tpu_config.CoresOfReplica(), 1);
    return config.tpu_config.num_shards.value_or(std::max(of_board, 1));
  }
  return config.train_distribute ? config.train_distribute->replicas() : 1;
}

int DevicesOf(const EstimatorOptions& options) {
  const int cores = options.use_tpu ? options.run_config.tpu_config.CoresOfReplica() : 1;
  return ReplicasOf(options) * cores;
}

bool Broadcasts(const TpuConfig& config) {
  const auto* const mode = std::get_if<std::string>(&config.per_host_input_for_training);
  return mode != nullptr && *mode == "BROADCAST";
}

std::vector<Fault> Validate(const EstimatorOptions& options) {
  Faults faults;
  CheckTpuConfig(options.run_config.tpu_config, faults);
  CheckRunConfig(options.run_config, faults);
  CheckReplicas(options, faults);
  CheckParams(options, faults);
  faults.Expect(!options.use_tpu || options.train_batch_size, "train_batch_size",
                "`train_batch_size` cannot be `None`",
                "examples per step, of all replicas together");
  faults.Expect(options.export_to_cpu || options.ExportsToTpu(), "export_to_cpu",
                "One of export_to_cpu and export_to_tpu must be true.");
  faults.Expect(
      options.export_saved_model_api_version == 1 || options.export_saved_model_api_version == 2,
      "export_saved_model_api_version",
      fmt::format("export_saved_model_api_version should be 1 or 2; got {}.",
                  options.export_saved_model_api_version));
  for (const int64_t axis : options.batch_axis.value_or(std::vector<int64_t>())) {
    faults.Expect(axis >= 0, "batch_axis", fmt::format("Dimension {} must be >= 0", axis));
  }
  CheckRows(options.train_batch_size, "train_batch_size", faults);
  CheckRows(options.eval_batch_size, "eval_batch_size", faults);
  CheckRows(options.predict_batch_size, "predict_batch_size", faults);
  if (options.warm_start_from) faults.AddAll(Validate(*options.warm_start_from));
  return faults.Take();
}

std::vector<Fault> Validate(const TrainLength& length, bool use_tpu) {
  Faults faults;
  faults.Expect(!length.steps || !length.max_steps, "train_spec.steps",
                "Can not provide both steps and max_steps.",
                "steps trains this many more, max_steps up to this global step");
  CheckSteps(length.steps, "steps", "train_spec", faults);
  CheckSteps(length.max_steps, "max_steps", "train_spec", faults);
  faults.Expect(!use_tpu || length.steps || length.max_steps, "train_spec",
                "For TPU training, one of `steps` or `max_steps` must be set. Cannot be both "
                "`None`.");
  return faults.Take();
}

std::vector<Fault> ValidateEvalSteps(const std::optional<int64_t>& steps, bool on_tpu) {
  Faults faults;
  if (on_tpu) {
    faults.ExpectPositive(steps, "eval_spec.steps", "Eval steps");
  } else {
    CheckSteps(steps, "steps", "eval_spec", faults);
  }
  return faults.Take();
}

}  // namespace tpuest
