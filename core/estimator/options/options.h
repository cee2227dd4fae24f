#pragma once
// The arguments of TPUEstimator, RunConfig, TPUConfig, TrainSpec and EvalSpec, with TensorFlow's
// names, defaults and rules.

#include <cstdint>
#include <limits>
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

// The value of an option that is not given, where null means something else.
inline constexpr int64_t kUseDefault = std::numeric_limits<int64_t>::min();

// tf.compat.v1.GPUOptions, of a GPU that a plugin drives.
struct GpuOptions {
  bool allow_growth = false;
  std::optional<double> per_process_gpu_memory_fraction;
  std::string visible_device_list;

  template <class V>
  void Visit(V& v) {
    v("allow_growth", allow_growth,
      {.help = "take memory as it is needed; false: most of it at the start"});
    v("per_process_gpu_memory_fraction", per_process_gpu_memory_fraction,
      {.help = "the part of the memory that is taken; null: the plugin's own, 0.75"});
    v("visible_device_list", visible_device_list,
      {.help = "numbers of the GPUs that may be used, as in 0,2; empty: all"});
  }
};

// The words of visible_device_list.
[[nodiscard]] std::vector<std::string> VisibleDevices(const GpuOptions& options);

// tf.compat.v1.ConfigProto, as far as it means something here.
struct SessionConfig {
  int intra_op_parallelism_threads = 0;
  GpuOptions gpu_options;

  template <class V>
  void Visit(V& v) {
    v("intra_op_parallelism_threads", intra_op_parallelism_threads,
      {.help = "step threads; 0: as many as the machine has cores"});
    v("gpu_options", gpu_options, {.help = "of GPUOptions, for --device cuda"});
  }
};

// true: PER_HOST_V1, false: PER_SHARD_V1, or InputPipelineConfig by name.
using InputPipelineConfig = std::variant<bool, std::string>;

// tf.compat.v1.estimator.tpu.TPUConfig.
struct TpuConfig {
  IterationsPerLoop iterations_per_loop = int64_t{2};
  // iterations_per_loop as RunConfig::Resolve has read it; nullopt: a value that cannot be taken.
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
      {.help =
           "steps between two looks at checkpoints and hooks; 300s, 10m, 1h: as many as fit into "
           "that time; auto: by the periods of what looks; use_tpu: false: after each step",
       .changes_bits = false});
    v("num_shards", num_shards,
      {.help = "replicas; null: as many as the 8 cores of one TPU board make"});
    v("num_cores_per_replica", num_cores_per_replica,
      {.help =
           "cores that share the work of a replica: 1, 2, 4 to 128; null: a replica is a core"});
    v("input_partition_dims", input_partition_dims,
      {.help = "[features] or [features, labels]: into how many parts the cores of a replica cut "
               "each dimension of its batch, a list or lists by name; null: each core has all"});
    v("per_host_input_for_training", per_host_input_for_training,
      {.help =
           "PER_HOST_V1 (true), PER_SHARD_V1 (false), PER_HOST_V2, SLICED: each replica gets its "
           "part of the batch, in order; BROADCAST: each gets all of it"});
    v("eval_training_input_configuration", eval_training_input_configuration,
      {.help = "PER_HOST_V1: as per_host_input_for_training; SLICED: outside of training each "
               "replica gets its part of the batch, also under BROADCAST",
       .changes_bits = false});
    v("experimental_host_call_every_n_steps", experimental_host_call_every_n_steps,
      {.help = "steps from one host_call to the next, counted anew in each loop",
       .changes_bits = false});
  }
};

// A tf.distribute strategy, for use_tpu: false: replicas that each take a batch of the size given.
struct DistributionStrategy {
  std::string type;
  std::optional<int> num_replicas;

  [[nodiscard]] int replicas() const { return num_replicas.value_or(1); }
  // Whether it has a replica in each process, as long as no number is given.
  [[nodiscard]] bool has_replica_a_process() const {
    return type == "MultiWorkerMirroredStrategy" && !num_replicas;
  }

  template <class V>
  void Visit(V& v) {
    v("type", type,
      {.help = "MirroredStrategy, MultiWorkerMirroredStrategy or CentralStorageStrategy",
       .required = true});
    v("num_replicas", num_replicas,
      {.help = "each takes a batch; null: 1, of MultiWorkerMirroredStrategy one in each process",
       .tpuest = true});
  }
};

// The checkpoints that an evaluation liked best stay, whatever keep_checkpoint_max says.
struct KeepBest {
  std::string metric;
  std::string mode;
  int64_t n = 1;
  std::optional<std::string> eval;

  template <class V>
  void Visit(V& v) {
    v("metric", metric, {.help = "of the evaluation", .required = true, .tpuest = true});
    v("mode", mode,
      {.help = "whether the smaller or the larger is better",
       .required = true,
       .tpuest = true,
       .values = {"min", "max"}});
    v("n", n, {.help = "checkpoints that stay", .tpuest = true});
    v("eval", eval, {.help = "one of eval_spec; null: the first", .tpuest = true});
  }
};

// tf.compat.v1.estimator.tpu.RunConfig, with tpuest's own options among its fields.
struct RunConfig {
  std::optional<std::string> model_dir;
  std::optional<std::string> mirror;
  std::optional<int64_t> tf_random_seed;
  std::optional<StepCount> save_summary_steps = 100;
  std::optional<StepCount> save_checkpoints_steps = kUseDefault;
  std::optional<int64_t> save_checkpoints_secs = kUseDefault;
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
      {.help = "the run's folder; resumed if it holds a checkpoint; null: a temporary one",
       .changes_bits = false});
    v("mirror", mirror,
      {.help =
           "a folder, such as a mounted bucket, that the run's is copied to behind the training, "
           "and brought back from where it is empty",
       .tpuest = true,
       .changes_bits = false});
    v("tf_random_seed", tf_random_seed, {.help = "null: drawn once, printed and saved"});
    v("save_summary_steps", save_summary_steps,
      {.help = "steps from one summary event to the next; null or 0: none", .changes_bits = false});
    v("save_checkpoints_steps", save_checkpoints_steps,
      {.help = "steps from one checkpoint to the next; not with save_checkpoints_secs",
       .changes_bits = false});
    v("save_checkpoints_secs", save_checkpoints_secs,
      {.help = "seconds from one checkpoint to the next; 600 if neither is given",
       .changes_bits = false});
    v("session_config", session_config, {.help = "of ConfigProto", .changes_bits = false});
    v("keep_checkpoint_max", keep_checkpoint_max,
      {.help = "newest checkpoints that are kept; null or 0: all", .changes_bits = false});
    v("keep_checkpoint_every_n_hours", keep_checkpoint_every_n_hours,
      {.help = "and one for every so many hours", .changes_bits = false});
    v("keep_best", keep_best,
      {.help =
           "the best checkpoints of train_and_evaluate's evaluations stay, and `best` names them",
       .tpuest = true,
       .changes_bits = false});
    v("log_step_count_steps", log_step_count_steps,
      {.help = "steps from one line of the log and of metrics.jsonl to the next; null: none",
       .changes_bits = false});
    v("checkpoint_save_graph_def", checkpoint_save_graph_def,
      {.help = "write graph.pbtxt, .meta and the graph event", .changes_bits = false});
    v("checkpoint_format", checkpoint_format,
      {.help = "saver: by variables' names; checkpoint: by objects, for tf.train.Checkpoint",
       .tpuest = true,
       .values = {"saver", "checkpoint"},
       .changes_bits = false});
    v("train_distribute", train_distribute,
      {.help = "with use_tpu: false: replicas of a tf.distribute strategy that train; "
               "train_batch_size is then of one replica"});
    v("eval_distribute", eval_distribute,
      {.help = "the same for evaluate and eval_batch_size", .changes_bits = false});
    v("tpu_config", tpu_config, {.help = "of TPUConfig"});
  }

  // Puts in the values that absent ones mean, so that none is kUseDefault, and reads
  // iterations_per_loop. Idempotent.
  void Resolve();
};

// What follows a step whose loss or result is not finite, which is never applied.
struct OnNanOptions {
  std::string policy = "stop";
  int64_t max_skips = 10;

  template <class V>
  void Visit(V& v) {
    v("policy", policy,
      {.help = "the run stops, goes on without the step's batch, or goes back to the newest "
               "checkpoint and on without its batch",
       .tpuest = true,
       .values = {"stop", "skip_step", "rollback"}});
    v("max_skips", max_skips,
      {.help = "batches that are left out in a row, or ways back to one checkpoint, before the run "
               "stops all the same",
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
  // embedding_config_spec.partition_strategy is mod: so the hosts of a TPU have dealt out the rows
  // of tables whose checkpoints are in slices.
  bool dealt_by_mod = false;

  template <class V>
  void Visit(V& v) {
    v("layout", layout,
      {.help = "array: room for every row, given page by page; index: the rows that were written; "
               "auto: an array up to 256 MiB",
       .tpuest = true,
       .values = {"auto", "array", "index"},
       .changes_bits = false});
    v("whole_table_bytes", whole_table_bytes,
      {.help = "a larger table stands in checkpoints as the rows that were written, TABLE-keys and "
               "TABLE-values: TensorFlow does not read it as a variable",
       .tpuest = true});
    v("shard_bytes", shard_bytes,
      {.help =
           "most bytes of a checkpoint's data shard that has more variables than one; of shards "
           "that have shared tables alone, the processes write each its part, where they see "
           "model_dir",
       .tpuest = true,
       .changes_bits = false});
    v("shared_table_bytes", shared_table_bytes,
      {.help = "the processes of a group share the rows of a table that has more bytes, slots and "
               "all: each holds and updates its own; a smaller one is whole in every process",
       .tpuest = true,
       .changes_bits = false});
    v("device_table_bytes", device_table_bytes,
      {.help = "on devices: where all tables together have more bytes, slots and all, the replicas "
               "share their rows; otherwise each has all of them",
       .tpuest = true,
       .changes_bits = false});
    v("max_resident_bytes", max_resident_bytes,
      {.help = "most bytes that all tables may hold in memory, weights and slots: a run that needs "
               "more ends with exit code 6; null: what the machine has",
       .tpuest = true,
       .changes_bits = false});
    v("admit_after", admit_after,
      {.help =
           "a row is trained from the step on that sees it for the N-th time, as the steps that "
           "are multiples of save_checkpoints_steps decide",
       .tpuest = true});
    v("evict_after_steps", evict_after_steps,
      {.help = "a row that no step saw for so many steps is forgotten: it reads as its initial "
               "value; decided as admit_after is; null: none is",
       .tpuest = true});
    v("incremental", incremental,
      {.help = "every N-th checkpoint has tables whole, those between them only the rows that "
               "changed since the whole one before, beside which they are read; 1: all are whole",
       .tpuest = true,
       .changes_bits = false});
  }

  // Whether rows are counted.
  [[nodiscard]] bool counts_rows() const { return admit_after > 1 || evict_after_steps; }
};

// The arguments of TPUEstimator, and what goes beyond them.
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
  // tpuest.uneven_batches of a job: "error", or "pad": with use_tpu a batch that does not divide by
  // the replicas is filled up, and what fills it up weighs nothing.
  std::string uneven_batches = "error";
  EmbeddingsOptions embeddings;  // tpuest.embeddings of a job

  template <class V>
  void Visit(V& v) {
    v("use_tpu", use_tpu,
      {.help = "true: num_shards replicas share each batch; false: one replica, batches as given"});
    v("train_batch_size", train_batch_size, {.help = "examples of a step, all replicas together"});
    v("eval_batch_size", eval_batch_size,
      {.help = "null: train_batch_size", .changes_bits = false});
    v("predict_batch_size", predict_batch_size,
      {.help = "null: eval_batch_size", .changes_bits = false});
    v("batch_axis", batch_axis,
      {.help = "where model_fn finds the batch in each feature, by name, and then each label; "
               "[3, 0]: images in HWCN; null: first"});
    v("eval_on_tpu", eval_on_tpu,
      {.help = "false: evaluate runs on one replica, as with use_tpu: false; null: true",
       .changes_bits = false});
    v("params", params, {.help = "for ${params.NAME}; batch_size and context are reserved"});
    v("warm_start_from", warm_start_from,
      {.help = "checkpoint prefix, folder or SavedModel whose trainable variables a new run starts "
               "from, or WarmStartSettings",
       .input_path = true});
    v("export_to_tpu", export_to_tpu,
      {.help = "exports get a MetaGraph with the tags serve, tpu; null: as use_tpu",
       .changes_bits = false});
    v("export_to_cpu", export_to_cpu,
      {.help = "exports get a MetaGraph with the tag serve", .changes_bits = false});
    v("export_saved_model_api_version", export_saved_model_api_version,
      {.help = "1: the TPU's MetaGraph calls the whole model on the TPU; 2: the model decides",
       .changes_bits = false});
    v("run_config", run_config, {.help = "of RunConfig"});
  }
  [[nodiscard]] bool ExportsToTpu() const { return export_to_tpu.value_or(use_tpu); }
};

// The number of replicas that train: num_shards, or what a board's cores make; with use_tpu: false
// the strategy's, or 1.
[[nodiscard]] int ReplicasOf(const EstimatorOptions& options);
// The devices that the replicas of a run take: with use_tpu each has num_cores_per_replica.
[[nodiscard]] int DevicesOf(const EstimatorOptions& options);
// Whether every replica gets the whole batch in training.
[[nodiscard]] bool Broadcasts(const TpuConfig& config);

// All faults of resolved options that show before data or a model is seen, with TensorFlow's
// messages and each one's key ("run_config.tpu_config.num_shards"). Batch sizes against replicas
// are checked when a mode first runs, as in TensorFlow (core/sharding/batch_size.h).
[[nodiscard]] std::vector<Fault> Validate(const EstimatorOptions& options);

// The length of a training. At most one may be set.
struct TrainLength {
  std::optional<int64_t> steps;      // this many more
  std::optional<int64_t> max_steps;  // up to this global step
  // Where the run of this length before this one did not end as it should: the step that it began
  // at. If it has saved its last checkpoint, nothing is left to train.
  std::optional<int64_t> unfinished_since = std::nullopt;
};
// The faults of a length, at "train_spec.steps", "train_spec.max_steps" or, where TPU training has
// neither, "train_spec".
[[nodiscard]] std::vector<Fault> Validate(const TrainLength& length, bool use_tpu);
// The faults of an evaluation's `steps`, at the key "eval_spec.steps".
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
    v("input_fn", input_fn, {.help = "one of input_fns", .required = true});
    v("steps", steps, {.help = "train for this many more steps", .changes_bits = false});
    v("max_steps", max_steps, {.help = "train up to this global step", .changes_bits = false});
    v("hooks", hooks, {.help = "SessionRunHooks, in this order"});
    v("saving_listeners", saving_listeners,
      {.help = "called around every checkpoint", .changes_bits = false});
  }
  [[nodiscard]] TrainLength length() const { return {.steps = steps, .max_steps = max_steps}; }
};

}  // namespace tpuest
