#include "core/estimator/options/python_config.h"

#include <fmt/format.h>

#include "core/base/text.h"

namespace tpuest {
namespace {

std::string NumberOrNone(const std::optional<int64_t>& value) {
  return value ? std::to_string(*value) : "None";
}

std::string SessionText(const SessionConfig& config) {
  std::string text;
  if (config.intra_op_parallelism_threads != 0) {
    text = fmt::format("intra_op_parallelism_threads: {} ", config.intra_op_parallelism_threads);
  }
  const GpuOptions& gpu = config.gpu_options;
  std::string told;
  if (gpu.per_process_gpu_memory_fraction) {
    told +=
        fmt::format("per_process_gpu_memory_fraction: {} ", *gpu.per_process_gpu_memory_fraction);
  }
  if (gpu.allow_growth) told += "allow_growth: true ";
  if (!gpu.visible_device_list.empty()) {
    told += fmt::format("visible_device_list: \"{}\" ", gpu.visible_device_list);
  }
  if (!told.empty()) text += fmt::format("gpu_options {{ {}}} ", told);
  return text +
         "allow_soft_placement: true graph_options { rewrite_options { meta_optimizer_iterations: "
         "ONE } } ";
}

std::string StrategyText(const std::optional<DistributionStrategy>& strategy) {
  return strategy ? fmt::format("<{} of {}>", strategy->type, strategy->replicas()) : "None";
}

// The number of a tpu_config.InputPipelineConfig.
int NumberOfPipeline(const std::string& name) {
  if (name == "PER_SHARD_V1") return 1;
  if (name == "PER_HOST_V2") return 3;
  if (name == "BROADCAST") return 4;
  return name == "SLICED" ? 5 : 2;
}

std::string TpuText(const TpuConfig& config) {
  const auto* const loop = std::get_if<int64_t>(&config.iterations_per_loop);
  const auto* const word = std::get_if<std::string>(&config.iterations_per_loop);
  const auto* const pipeline = std::get_if<std::string>(&config.per_host_input_for_training);
  const int input = pipeline != nullptr ? NumberOfPipeline(*pipeline)
                    : std::get<bool>(config.per_host_input_for_training) ? 2
                                                                         : 1;
  return fmt::format(
      "TPUConfig(iterations_per_loop={}, num_shards={}, num_cores_per_replica={}, "
      "per_host_input_for_training={}, tpu_job_name=None, initial_infeed_sleep_secs=None, "
      "input_partition_dims={}, eval_training_input_configuration={}, "
      "experimental_host_call_every_n_steps={}, "
      "experimental_allow_per_host_v2_parallel_get_next=False, experimental_feed_hook=None)",
      loop != nullptr   ? std::to_string(*loop)
      : word != nullptr ? "'" + *word + "'"
                        : "None",
      config.num_shards ? std::to_string(*config.num_shards) : "None",
      config.num_cores_per_replica ? std::to_string(*config.num_cores_per_replica) : "None", input,
      PythonText(config.input_partition_dims),
      NumberOfPipeline(config.eval_training_input_configuration),
      config.experimental_host_call_every_n_steps);
}

}  // namespace

std::string PythonConfig(const EstimatorOptions& options, const std::string& model_dir) {
  const RunConfig& config = options.run_config;
  std::string text = fmt::format(
      "{{'_model_dir': '{}', '_tf_random_seed': {}, '_save_summary_steps': {}, "
      "'_save_checkpoints_steps': {}, '_save_checkpoints_secs': {}, '_session_config': {}, "
      "'_keep_checkpoint_max': {}, '_keep_checkpoint_every_n_hours': {}, "
      "'_log_step_count_steps': {}, '_train_distribute': {}, '_device_fn': None, "
      "'_protocol': None, '_eval_distribute': {}, '_experimental_distribute': None, "
      "'_experimental_max_worker_delay_secs': None, '_session_creation_timeout_secs': 7200, "
      "'_checkpoint_save_graph_def': {}, '_service': None, '_cluster_spec': ClusterSpec({{}}), "
      "'_task_type': 'worker', '_task_id': 0, '_global_id_in_cluster': 0, '_master': '', "
      "'_evaluation_master': '', '_is_chief': True, '_num_ps_replicas': 0, "
      "'_num_worker_replicas': 1",
      model_dir, NumberOrNone(config.tf_random_seed), NumberOrNone(config.save_summary_steps),
      NumberOrNone(config.save_checkpoints_steps), NumberOrNone(config.save_checkpoints_secs),
      SessionText(config.session_config), NumberOrNone(config.keep_checkpoint_max),
      NumberText(config.keep_checkpoint_every_n_hours), NumberOrNone(config.log_step_count_steps),
      StrategyText(config.train_distribute), StrategyText(config.eval_distribute),
      config.checkpoint_save_graph_def ? "True" : "False");
  if (options.use_tpu) {
    text += fmt::format(", '_tpu_config': {}, '_cluster': None", TpuText(config.tpu_config));
  }
  return text + "}";
}

}  // namespace tpuest
