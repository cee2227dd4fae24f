#pragma once
// The arguments of TPUEstimator, RunConfig, TPUConfig, TrainSpec and EvalSpec, with TensorFlow's
// names, defaults and rules.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "core/base/error.h"
#include "core/base/step_count.h"
#include "core/base/visit.h"
#include "core/estimator/options/hook_options.h"
#include "core/estimator/options/input_partition.h"
#include "core/estimator/options/iterations_per_loop.h"
#include "core/estimator/options/warm_start_settings.h"

namespace tpuest {

// tf.compat.v1.GPUOptions, for a GPU that a plugin drives.
struct GpuOptions {
  bool allow_growth = false;
  std::optional<double> per_process_gpu_memory_fraction;
  std::string visible_device_list;

  template <class V>
  void Visit(V& v) {
    v("allow_growth", allow_growth,
      {.help = "`true` allocates GPU memory as needed; `false` allocates most of it at the start"});
    v("per_process_gpu_memory_fraction", per_process_gpu_memory_fraction,
      {.help = "fraction of the GPU memory to allocate; `null` takes the plugin's default, 0.75"});
    v("visible_device_list", visible_device_list,
      {.help = "indices of the GPUs to use, such as 0,2; empty uses all"});
  }
};

// The devices in visible_device_list.
[[nodiscard]] std::vector<std::string> VisibleDevices(const GpuOptions& options);

// tf.compat.v1.ConfigProto, as far as it applies here.
struct SessionConfig {
  int intra_op_parallelism_threads = 0;
  GpuOptions gpu_options;

  template <class V>
  void Visit(V& v) {
    v("intra_op_parallelism_threads", intra_op_parallelism_threads,
      {.help = "number of threads for steps; 0 uses one per core of the machine"});
    v("gpu_options", gpu_options, {.help = "GPUOptions, for --device cuda"});
  }
};

// true: PER_HOST_V1, false: PER_SHARD_V1, or InputPipelineConfig by name.
using InputPipelineConfig = std::variant<bool, std::string>;

// tf.compat.v1.estimator.tpu.TPUConfig.
struct TpuConfig {
  IterationsPerLoop iterations_per_loop = int64_t{2};
  // iterations_per_loop as RunConfig::Resolve parsed it; nullopt for an invalid value.
  std::optional<IterationsPerLoopCounter> loop;
  std::optional<int> num_shards;
  std::optional<int> num_cores_per_replica;
  std::optional<InputPartitionDims> input_partition_dims;
  InputPipelineConfig per_host_input_for_training = true;
  std::string eval_training_input_configuration = "PER_HOST_V1";
  int64_t experimental_host_call_every_n_steps = 1;

  // The cores that share the work of a replica.
  [[nodiscard]] int CoresOfReplica() const { return num_cores_per_replica.value_or(1); }

  template <class V>
  void Visit(V& v) {
    v("iterations_per_loop", iterations_per_loop,
      {.help = "training steps between checks for checkpoints and hooks; a duration (300s, 10m, "
               "1h) runs as many steps as fit; `auto` derives it from the hooks' intervals; with "
               "`use_tpu: false` every step is checked",
       .changes_bits = false});
    v("num_shards", num_shards,
      {.help = "number of replicas; `null` takes as many as fit on the 8 cores of one TPU board"});
    v("num_cores_per_replica", num_cores_per_replica,
      {.help = "cores that share the work of one replica: 1, 2, 4 and so on up to 128; `null` is "
               "one core"});
    v("input_partition_dims", input_partition_dims,
      {.help = "[features] or [features, labels]: number of parts into which each dimension of a "
               "batch is cut, one part per core of a replica; a list, or lists by name; `null` "
               "gives each core the whole batch"});
    v("per_host_input_for_training", per_host_input_for_training,
      {.help = "how training batches reach the replicas: PER_HOST_V1 (`true`), PER_SHARD_V1 "
               "(`false`), PER_HOST_V2 and SLICED give each replica its part, in order; BROADCAST "
               "gives each replica the whole batch"});
    v("eval_training_input_configuration", eval_training_input_configuration,
      {.help = "how batches reach the replicas outside training: PER_HOST_V1 follows "
               "per_host_input_for_training; SLICED gives each replica its part of the batch, even "
               "under BROADCAST",
       .changes_bits = false});
    v("experimental_host_call_every_n_steps", experimental_host_call_every_n_steps,
      {.help = "steps between calls of host_call, counted from the start of each loop",
       .changes_bits = false});
  }
};

// A tf.distribute strategy, for use_tpu: false: each replica takes a batch of the given size.
struct DistributionStrategy {
  std::string type;
  std::optional<int> num_replicas;

  [[nodiscard]] int replicas() const { return num_replicas.value_or(1); }
  // Whether it has one replica per process as long as no number is given.
  [[nodiscard]] bool has_replica_a_process() const {
    return type == "MultiWorkerMirroredStrategy" && !num_replicas;
  }

  template <class V>
  void Visit(V& v) {
    v("type", type,
      {.help = "strategy: MirroredStrategy, MultiWorkerMirroredStrategy or CentralStorageStrategy",
       .required = true});
    v("num_replicas", num_replicas,
      {.help = "number of replicas, each of which takes a batch; `null` is 1, or one per process "
               "for MultiWorkerMirroredStrategy",
       .tpuest = true});
  }
};

// Keeps the checkpoints with the best evaluations, regardless of keep_checkpoint_max.
struct KeepBest {
  std::string metric;
  std::string mode;
  int64_t n = 1;
  std::optional<std::string> eval;

  template <class V>
  void Visit(V& v) {
    v("metric", metric,
      {.help = "metric of the evaluation to compare", .required = true, .tpuest = true});
    v("mode", mode,
      {.help = "whether smaller or larger is better",
       .required = true,
       .tpuest = true,
       .values = {"min", "max"}});
    v("n", n, {.help = "number of checkpoints to keep", .tpuest = true});
    v("eval", eval,
      {.help = "name of the eval_spec to compare; `null` is the first", .tpuest = true});
  }
};

// tf.compat.v1.estimator.tpu.RunConfig, including tpuest's own options.
struct RunConfig {
  std::optional<std::string> model_dir;
  std::optional<std::string> mirror;
  std::optional<int64_t> tf_random_seed;
  std::optional<StepCount> save_summary_steps = 100;
  Given<StepCount> save_checkpoints_steps;
  Given<int64_t> save_checkpoints_secs;
  SessionConfig session_config;
  std::optional<int64_t> keep_checkpoint_max = 5;
  double keep_checkpoint_every_n_hours = 10000;
  std::optional<KeepBest> keep_best;
  std::optional<StepCount> log_step_count_steps = 100;
  bool checkpoint_save_graph_def = true;
  std::string checkpoint_format = "saver";
  std::optional<DistributionStrategy> train_distribute;
  std::optional<DistributionStrategy> eval_distribute;
  TpuConfig tpu_config;

  template <class V>
  void Visit(V& v) {
    v("model_dir", model_dir,
      {.help = "folder of the run; a checkpoint in it is resumed; `null` uses a temporary folder",
       .changes_bits = false});
    v("mirror", mirror,
      {.help = "folder, such as a mounted bucket, to which the run is copied while it trains, and "
               "from which an empty model_dir is restored",
       .tpuest = true,
       .changes_bits = false});
    v("tf_random_seed", tf_random_seed,
      {.help = "seed of all random numbers; `null` picks one at random, prints and saves it"});
    v("save_summary_steps", save_summary_steps,
      {.help = "steps between summary events; `null` or 0 writes none", .changes_bits = false});
    v("save_checkpoints_steps", save_checkpoints_steps,
      {.help = "steps between checkpoints; cannot be combined with save_checkpoints_secs",
       .changes_bits = false});
    v("save_checkpoints_secs", save_checkpoints_secs,
      {.help =
           "seconds between checkpoints; 600 if neither this nor save_checkpoints_steps is given",
       .changes_bits = false});
    v("session_config", session_config, {.help = "ConfigProto", .changes_bits = false});
    v("keep_checkpoint_max", keep_checkpoint_max,
      {.help = "number of newest checkpoints to keep; `null` or 0 keeps all",
       .changes_bits = false});
    v("keep_checkpoint_every_n_hours", keep_checkpoint_every_n_hours,
      {.help = "additionally keep one checkpoint per this many hours", .changes_bits = false});
    v("keep_best", keep_best,
      {.help = "additionally keep the best checkpoints by train_and_evaluate's evaluations; "
               "--checkpoint `best` selects them",
       .tpuest = true,
       .changes_bits = false});
    v("log_step_count_steps", log_step_count_steps,
      {.help = "steps between lines of the log and of metrics.jsonl; `null` writes none",
       .changes_bits = false});
    v("checkpoint_save_graph_def", checkpoint_save_graph_def,
      {.help = "write graph.pbtxt, .meta files and the graph event", .changes_bits = false});
    v("checkpoint_format", checkpoint_format,
      {.help =
           "`saver` stores variables by name; `checkpoint` stores objects, for tf.train.Checkpoint",
       .tpuest = true,
       .values = {"saver", "checkpoint"},
       .changes_bits = false});
    v("train_distribute", train_distribute,
      {.help = "tf.distribute strategy for training, with `use_tpu: false`; train_batch_size is "
               "then the batch size of one replica"});
    v("eval_distribute", eval_distribute,
      {.help = "tf.distribute strategy for evaluate, with `use_tpu: false`; eval_batch_size is "
               "then the batch size of one replica",
       .changes_bits = false});
    v("tpu_config", tpu_config, {.help = "TPUConfig"});
  }

  // Replaces absent values by their meaning, so that every Given is given, and parses
  // iterations_per_loop. Idempotent.
  void Resolve();
};

// What happens after a step whose loss or result is not finite; such a step is never applied.
struct OnNanOptions {
  std::string policy = "stop";
  int64_t max_skips = 10;

  template <class V>
  void Visit(V& v) {
    v("policy", policy,
      {.help = "`stop` ends the run; `skip_step` continues without the batch of that step; "
               "`rollback` restores the newest checkpoint and continues without that batch",
       .tpuest = true,
       .values = {"stop", "skip_step", "rollback"}});
    v("max_skips", max_skips,
      {.help =
           "maximum batches to skip in a row, or rollbacks to one checkpoint, before the run stops",
       .tpuest = true});
  }
};

// How the tables of an embedding_config_spec are kept and saved.
struct EmbeddingsOptions {
  std::string layout = "auto";
  int64_t whole_table_bytes = int64_t{4} << 30;
  int64_t shard_bytes = int64_t{2} << 30;
  int64_t shared_table_bytes = int64_t{16} << 20;
  int64_t device_table_bytes = int64_t{8} << 30;
  std::optional<int64_t> max_resident_bytes;
  int64_t admit_after = 1;
  std::optional<int64_t> evict_after_steps;
  int64_t incremental = 1;
  // True if embedding_config_spec.partition_strategy is mod: the hosts of a TPU have then
  // partitioned the rows of tables in this way in checkpoints with slices.
  bool dealt_by_mod = false;

  template <class V>
  void Visit(V& v) {
    v("layout", layout,
      {.help =
           "memory layout of a table: `array` reserves room for every row, allocated page by page; "
           "`index` holds only rows that were written; `auto` uses an array up to 256 MiB",
       .tpuest = true,
       .values = {"auto", "array", "index"},
       .changes_bits = false});
    v("whole_table_bytes", whole_table_bytes,
      {.help = "bytes above which checkpoints store only a table's written rows, as TABLE-keys and "
               "TABLE-values, which TensorFlow does not read as a variable",
       .tpuest = true});
    v("shard_bytes", shard_bytes,
      {.help = "maximum bytes of a checkpoint data shard that holds several variables; if the "
               "processes of a group share model_dir, they write shards of shared tables together, "
               "each its own part",
       .tpuest = true,
       .changes_bits = false});
    v("shared_table_bytes", shared_table_bytes,
      {.help = "bytes, including slots, above which the processes of a group share a table's rows: "
               "each holds and updates its own; every process holds smaller tables whole",
       .tpuest = true,
       .changes_bits = false});
    v("device_table_bytes", device_table_bytes,
      {.help = "of devices: bytes of all tables with slots above which the replicas share their "
               "rows; below it each replica has all rows",
       .tpuest = true,
       .changes_bits = false});
    v("max_resident_bytes", max_resident_bytes,
      {.help = "maximum bytes of all tables in memory, weights and slots; a run that needs more "
               "exits with code 6; `null` allows what the machine has",
       .tpuest = true,
       .changes_bits = false});
    v("admit_after", admit_after,
      {.help =
           "train a row once N steps have used it; decided at multiples of save_checkpoints_steps",
       .tpuest = true});
    v("evict_after_steps", evict_after_steps,
      {.help = "forget a row that no step used for this many steps, so that it reads as its "
               "initial value; decided at multiples of save_checkpoints_steps; `null` forgets none",
       .tpuest = true});
    v("incremental", incremental,
      {.help =
           "save whole tables in every N-th checkpoint; the checkpoints between save only rows "
           "changed since then, and can be read only with that one; 1 always saves whole tables",
       .tpuest = true,
       .changes_bits = false});
  }

  // Whether rows are counted.
  [[nodiscard]] bool counts_rows() const { return admit_after > 1 || evict_after_steps; }
};

// The arguments of TPUEstimator, and tpuest's own.
struct EstimatorOptions {
  bool use_tpu = true;
  std::optional<int64_t> train_batch_size;
  std::optional<int64_t> eval_batch_size;     // null: train_batch_size
  std::optional<int64_t> predict_batch_size;  // null: eval_batch_size
  std::optional<std::vector<int64_t>> batch_axis;
  std::optional<bool> eval_on_tpu;
  std::map<std::string, Raw> params;
  std::optional<WarmStartFrom> warm_start_from;
  std::optional<bool> export_to_tpu;
  bool export_to_cpu = true;
  int export_saved_model_api_version = 1;
  RunConfig run_config;
  OnNanOptions on_nan;  // tpuest.on_nan of a job
  // tpuest.uneven_batches of a job, with use_tpu: "error" refuses a batch that does not divide
  // evenly over the replicas; "pad" adds rows of weight zero.
  std::string uneven_batches = "error";
  EmbeddingsOptions embeddings;  // tpuest.embeddings of a job

  template <class V>
  void Visit(V& v) {
    v("use_tpu", use_tpu,
      {.help = "`true` splits each batch over num_shards replicas; `false` uses one replica and "
               "whole batches"});
    v("train_batch_size", train_batch_size,
      {.help = "examples per training step, over all replicas"});
    v("eval_batch_size", eval_batch_size,
      {.help = "examples per evaluation batch; `null` is train_batch_size", .changes_bits = false});
    v("predict_batch_size", predict_batch_size,
      {.help = "examples per prediction batch; `null` is eval_batch_size", .changes_bits = false});
    v("batch_axis", batch_axis,
      {.help = "axis of the batch in each feature, by name, and then in each label; [3, 0] is for "
               "images in HWCN; `null` is the first axis"});
    v("eval_on_tpu", eval_on_tpu,
      {.help = "`false` evaluates on one replica, as `use_tpu: false` does; `null` is true",
       .changes_bits = false});
    v("params", params,
      {.help = "values that `${params.NAME}` inserts; batch_size and context are reserved"});
    v("warm_start_from", warm_start_from,
      {.help = "checkpoint prefix, folder or SavedModel from which a new run takes its trainable "
               "variables; or WarmStartSettings",
       .input_path = true});
    v("export_to_tpu", export_to_tpu,
      {.help = "add a MetaGraph with the tags serve, tpu to exports; `null` follows use_tpu",
       .changes_bits = false});
    v("export_to_cpu", export_to_cpu,
      {.help = "add a MetaGraph with the tag serve to exports", .changes_bits = false});
    v("export_saved_model_api_version", export_saved_model_api_version,
      {.help = "version of the TPU's MetaGraph: 1 runs the whole model on the TPU; 2 lets the "
               "model decide what runs there",
       .changes_bits = false});
    v("run_config", run_config, {.help = "RunConfig"});
  }
  [[nodiscard]] bool ExportsToTpu() const { return export_to_tpu.value_or(use_tpu); }
};

// Returns the number of replicas that train: num_shards, or as many as a board's cores form; with
// use_tpu: false the strategy's number, or 1.
[[nodiscard]] int ReplicasOf(const EstimatorOptions& options);
// Returns the number of devices that the replicas of a run use: with use_tpu, num_cores_per_replica
// each.
[[nodiscard]] int DevicesOf(const EstimatorOptions& options);
// Whether every replica gets the whole batch in training.
[[nodiscard]] bool Broadcasts(const TpuConfig& config);

// Returns all faults of resolved options that can be found without data or a model, with
// TensorFlow's messages and their keys ("run_config.tpu_config.num_shards"). Batch sizes are
// checked against replicas when a mode first runs, as in TensorFlow (core/sharding/batch_size.h).
[[nodiscard]] std::vector<Fault> Validate(const EstimatorOptions& options);

// The length of a training. At most one of steps and max_steps may be set.
struct TrainLength {
  std::optional<int64_t> steps;      // this many more steps
  std::optional<int64_t> max_steps;  // up to this global step
  // If the previous run of this length did not end properly: the step at which it began. If it
  // saved its last checkpoint, nothing is left to train.
  std::optional<int64_t> unfinished_since = std::nullopt;
};
// Returns the faults of a length, at "train_spec.steps", "train_spec.max_steps" or, if TPU training
// has neither, "train_spec".
[[nodiscard]] std::vector<Fault> Validate(const TrainLength& length, bool use_tpu);
// Returns the faults of an evaluation's `steps`, at the key "eval_spec.steps".
[[nodiscard]] std::vector<Fault> ValidateEvalSteps(const std::optional<int64_t>& steps,
                                                   bool on_tpu);

// tf.estimator.TrainSpec, as a job writes it.
struct TrainSpec {
  std::string input_fn;
  std::optional<StepCount> steps;
  std::optional<StepCount> max_steps;
  std::vector<AnyHook> hooks;
  std::vector<AnySavingListener> saving_listeners;

  template <class V>
  void Visit(V& v) {
    v("input_fn", input_fn, {.help = "name of one of input_fns", .required = true});
    v("steps", steps, {.help = "number of further steps to train", .changes_bits = false});
    v("max_steps", max_steps, {.help = "train up to this global step", .changes_bits = false});
    v("hooks", hooks, {.help = "SessionRunHooks to call during training, in this order"});
    v("saving_listeners", saving_listeners,
      {.help = "listeners to call before and after each checkpoint", .changes_bits = false});
  }
  [[nodiscard]] TrainLength length() const { return {.steps = steps, .max_steps = max_steps}; }
};

}  // namespace tpuest
