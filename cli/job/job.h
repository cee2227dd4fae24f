#pragma once
// The job file: the options of every part in one struct.

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "cli/job/job_fwd.h"
#include "cli/job/job_scaffold.h"
#include "config/config.h"
#include "core/estimator/contract/contract.h"
#include "core/estimator/options/eval_spec.h"
#include "core/estimator/options/export_options.h"
#include "core/estimator/options/options.h"
#include "core/nn/optimizers/optimizers.h"
#include "data/options.h"
#include "models/zoo.h"

namespace tpuest::cli {

struct PredictOutput {
  std::string path = "-";
  std::optional<std::string> format;

  template <class V>
  void Visit(V& v) {
    v("path", path, {.help = "output file; `-` writes to stdout", .tpuest = true});
    v("format", format,
      {.help = "`jsonl`, `csv` or `tfrecord` (tf.Examples); `null` takes it from the path's "
               "ending, otherwise JSON Lines",
       .tpuest = true,
       .values = {"jsonl", "csv", "tfrecord"}});
  }
};

struct PredictOptions {
  std::optional<std::string> input_fn;
  std::string checkpoint_path = "latest";
  std::optional<std::vector<std::string>> predict_keys;
  std::vector<std::string> forward_features;
  bool yield_single_examples = true;
  std::vector<AnyPredictHook> hooks;
  PredictOutput output;

  template <class V>
  void Visit(V& v) {
    v("input_fn", input_fn, {.help = "name of one of input_fns; `null` takes that of eval_spec"});
    v("checkpoint_path", checkpoint_path,
      {.help = "checkpoint to predict with: `latest`, `best`, a step or a prefix"});
    v("predict_keys", predict_keys, {.help = "predictions to write, by name; `null` writes all"});
    v("forward_features", forward_features,
      {.help = "columns of the input to write beside the predictions"});
    v("yield_single_examples", yield_single_examples,
      {.help = "`true` writes one row per example; `false` one row per batch"});
    v("hooks", hooks, {.help = "SessionRunHooks to call during prediction, in this order"});
    v("output", output, {.help = "where predictions are written", .tpuest = true});
  }
};

// Deadlines are in seconds.
struct DeadlineOptions {
  double rendezvous_secs = 300;
  double peer_secs = 10;
  double step_secs = 0;
  double evaluator_secs = 600;

  template <class V>
  void Visit(V& v) {
    v("rendezvous_secs", rendezvous_secs,
      {.help = "seconds that the processes of a group wait for each other at the start",
       .tpuest = true});
    v("peer_secs", peer_secs,
      {.help = "seconds of silence after which a process of a group counts as lost",
       .tpuest = true});
    v("step_secs", step_secs,
      {.help = "seconds that a process of a group may take for its part of a step before it counts "
               "as lost; 0 allows 20 times the duration of a step, at least a minute",
       .tpuest = true});
    v("evaluator_secs", evaluator_secs,
      {.help = "seconds after which `evaluate --follow` exits if it sees neither a trainer nor a "
               "new checkpoint",
       .tpuest = true});
  }
};

// How the processes of a group on several machines authenticate each other.
struct ClusterOptions {
  std::optional<std::string> token_file;
  bool insecure = false;

  template <class V>
  void Visit(V& v) {
    v("token_file", token_file,
      {.help = "file with the secret shared by all processes of a group: only processes that have "
               "it may join, and their traffic is encrypted; the variable TPUEST_CLUSTER_TOKEN may "
               "hold the secret instead",
       .tpuest = true});
    v("insecure", insecure,
      {.help = "`true` runs a group on several machines without a token, so that anyone who "
               "reaches a process may join; `false` allows that on one machine only",
       .tpuest = true});
  }
};

struct PreemptionOptions {
  std::vector<std::string> signals = {"SIGTERM", "SIGUSR1", "SIGHUP", "SIGINT"};
  std::optional<double> grace_secs;

  template <class V>
  void Visit(V& v) {
    v("signals", signals,
      {.help = "signals on which a run saves a checkpoint and exits; all other signals keep their "
               "default action",
       .tpuest = true});
    v("grace_secs", grace_secs,
      {.help = "seconds after such a signal at which a run exits even if it has not saved; `null` "
               "sets no limit",
       .tpuest = true});
  }
};

struct TpuestOptions {
  std::string resume = "auto";
  PreemptionOptions preemption;
  OnNanOptions on_nan;
  std::string uneven_batches = "error";
  EmbeddingsOptions embeddings;
  std::string device = "auto";
  bool fsync = true;
  int64_t staging_bytes = int64_t{64} << 20;
  std::string matmul_precision = "default";
  bool deterministic_ops = true;
  std::string cpu_isa = "native";
  std::vector<std::string> remat;
  data::DataErrorOptions data_errors;
  DeadlineOptions deadlines;
  ClusterOptions cluster;
  std::optional<data::FoldOptions> fold;

  template <class V>
  void Visit(V& v) {
    v("resume", resume,
      {.help = "what `train` does with the checkpoint in model_dir: `auto` resumes it if there is "
               "one; `must` requires one; `never` requires an empty or missing model_dir",
       .tpuest = true,
       .values = {"auto", "must", "never"},
       .changes_bits = false});
    v("preemption", preemption,
      {.help = "signals on which a run saves a checkpoint and exits",
       .tpuest = true,
       .changes_bits = false});
    v("on_nan", on_nan,
      {.help = "what to do after a step whose loss or update is not finite; such a step is never "
               "applied",
       .tpuest = true});
    v("uneven_batches", uneven_batches,
      {.help = "how to treat a batch that does not divide evenly over the replicas (`use_tpu: "
               "true`): `error` refuses it, as TPUEstimator does; `pad` adds rows of weight zero",
       .tpuest = true,
       .values = {"error", "pad"}});
    v("embeddings", embeddings,
      {.help = "options of the tables in embedding_config_spec", .tpuest = true});
    v("device", device,
      {.help = "device that runs the steps: `cpu`, or the PJRT plugin of `cpu-xla`, `cuda`, `tpu` "
               "or `pjrt:PATH`; `auto` is `cpu`; the flag --device overrides it",
       .tpuest = true});
    v("fsync", fsync,
      {.help = "flush each checkpoint to disk before it is listed as saved",
       .tpuest = true,
       .changes_bits = false});
    v("staging_bytes", staging_bytes,
      {.help = "maximum bytes of batches sent to one replica of a device at once",
       .tpuest = true,
       .changes_bits = false});
    v("matmul_precision", matmul_precision,
      {.help = "precision of float32 matrix products on a device: `default` (TPUs and newer GPUs "
               "round to fewer bits), `high`, or `highest` (full float32)",
       .tpuest = true,
       .values = {"default", "high", "highest"}});
    v("deterministic_ops", deterministic_ops,
      {.help = "`true` makes a GPU give the same bits in each run, as "
               "tf.config.experimental.enable_op_determinism does; `false` may be faster",
       .tpuest = true});
    v("cpu_isa", cpu_isa,
      {.help = "vector instructions of the CPU engine: `native` takes the best of the processor; "
               "`avx2` and `avx512` fix them, so that different processors give the same bits",
       .tpuest = true,
       .values = {"native", "avx2", "avx512"}});
    v("remat", remat,
      {.help = "patterns of layer names; a training step recomputes these layers' results in its "
               "backward pass instead of keeping them, with the same bits",
       .tpuest = true,
       .changes_bits = false});
    v("data_errors", data_errors,
      {.help = "how to treat records that cannot be read", .tpuest = true});
    v("deadlines", deadlines,
      {.help = "time limits of waiting, in seconds", .tpuest = true, .changes_bits = false});
    v("cluster", cluster,
      {.help = "how processes on several machines trust each other",
       .tpuest = true,
       .changes_bits = false});
    v("fold", fold,
      {.help = "cross-validation: training leaves out one fold of the train_spec's records, and "
               "every eval_spec evaluates on that fold",
       .tpuest = true});
  }
};

// A job is the content of its file; Visit has the help of each key.
struct Job {
  // Movable only: copying its variants takes long to compile, and nothing needs a copy.
  Job();
  Job(Job&&) noexcept;
  Job& operator=(Job&&) noexcept;
  ~Job();

  int version = 0;
  std::optional<std::string> name;
  std::optional<std::string> mode;
  std::vector<std::string> base;  // always empty: config/layers.h has merged the files
  EstimatorOptions estimator;
  std::map<std::string, data::InputFnOptions> input_fns;
  nn::FeatureColumns feature_columns;
  std::optional<nn::EmbeddingConfigSpec> embedding_config_spec;
  models::AnyModel model;
  ScaffoldOptions scaffold_fn;
  std::optional<nn::AnyOptimizer> optimizer;
  std::vector<models::AnySummary> summaries;
  std::optional<TrainSpec> train_spec;
  std::optional<EvalSpecs> eval_spec;
  PredictOptions predict;
  ExportOptions export_options;
  TpuestOptions tpuest;
  // Steps per epoch of the training input, once it has been counted (cli/job/step_counts.h); not a
  // key.
  std::optional<double> steps_per_epoch;

  template <class V>
  void Visit(V& v) {
    v("version", version,
      {.help = "version of the job format: 1",
       .required = true,
       .tpuest = true,
       .changes_bits = false});
    v("name", name,
      {.help = "name of the run; `${name}` inserts it in other values",
       .tpuest = true,
       .changes_bits = false});
    v("mode", mode,
      {.help = "command that `tpuest run` runs",
       .tpuest = true,
       .values = {"train", "evaluate", "predict", "export", "train_and_evaluate"},
       .changes_bits = false});
    v("base", base,
      {.help = "one file or a list of files with defaults for this job; the job overrides them, "
               "and later files override earlier ones",
       .tpuest = true});
    estimator.Visit(v);
    v("input_fns", input_fns, {.help = "tf.data pipelines by name", .tpuest = true});
    v("feature_columns", feature_columns,
      {.help = "tf.feature_column definitions by name, for premade estimators", .tpuest = true});
    v("embedding_config_spec", embedding_config_spec,
      {.help = "embedding tables that have their own optimizers"});
    v("model", model, {.help = "model_fn: a type and its arguments", .required = true});
    v("scaffold_fn", scaffold_fn, {.help = "what the model_fn's scaffold does to variables"});
    v("optimizer", optimizer, {.help = "a tf.train optimizer; required for training"});
    v("summaries", summaries,
      {.help =
           "host_call: values recorded at every training step: loss, learning_rate, current_epoch, "
           "global_norm/gradient_norm, scalars of the model by tag and metrics of the batch by "
           "name; or formulas for tf.summary, recorded every save_summary_steps",
       .tpuest = true,
       .changes_bits = false});
    v("train_spec", train_spec, {.help = "arguments of TrainSpec"});
    v("eval_spec", eval_spec,
      {.help = "arguments of EvalSpec: one section, or several by name", .changes_bits = false});
    v("predict", predict, {.help = "arguments of Estimator.predict", .changes_bits = false});
    v("export", export_options,
      {.help = "arguments of Estimator.export_saved_model", .changes_bits = false});
    v("tpuest", tpuest, {.help = "options that TensorFlow does not have", .tpuest = true});
  }
};

// Returns the key paths of the parameters that the job's model, or its model file, declares.
[[nodiscard]] std::vector<std::string> ModelParameterPaths(const config::Tree& job);
// Expands the blocks of the job's model, and model files that it names, into layers.
void ExpandModelBlocks(config::Tree& job, config::Sources& sources, Faults& faults);

// Reads the job of a file with its layers (bases, set files, overrides). `sources` keeps the texts,
// so that faults can show their lines. Error kUsage with every fault, each at its file and line.
[[nodiscard]] LoadedJob LoadJobFile(const std::string& path, const config::Layers& layers,
                                    config::Sources& sources);
// The same from a text; the file need not exist.
[[nodiscard]] LoadedJob ParseJobText(std::string_view text, const std::string& path,
                                     const config::Layers& layers, config::Sources& sources);
// Return the job as YAML: every value with its origin; the values that the job and the command line
// set; the values that differ from the defaults. `tree` is the tree that the job was read from.
[[nodiscard]] std::string ResolvedText(const Job& job, const config::Tree& tree);
[[nodiscard]] std::string ShownText(const Job& job, const config::Tree& tree);
[[nodiscard]] std::string MinimalText(const Job& job, const config::Tree& tree);
// Returns every scalar and list of the job with its path ("optimizer.learning_rate"), in the order
// of the sections' keys.
[[nodiscard]] std::vector<config::FlatValue> FlatJob(const Job& job);

// Returns the job's complete model. If a schedule uses epochs, opens the training input to count
// its records.
[[nodiscard]] ModelFn MakeJobModelFn(const Job& job);
// Returns the model without reading data: the length of an epoch is arbitrary, so only rates of
// schedules in epochs differ from the job's.
[[nodiscard]] ModelFn MakeModelFnForShapes(const Job& job);
// The same without recomputation, whatever tpuest.remat says.
[[nodiscard]] ModelFn MakeKeepingModelFnForShapes(const Job& job);
// Returns the input `name` of the job's input_fns, which must exist; its labels are checked against
// the model's.
[[nodiscard]] InputFn MakeJobInputFn(const Job& job, const std::string& name,
                                     std::vector<std::string> forwarded = {});

// Returns the job's EvalSpecs in its order; empty without an eval_spec. The results point into the
// job.
[[nodiscard]] std::vector<NamedEvalSpec> EvalSpecsOf(const Job& job);

// Returns the hooks of the train_spec, which the job must have. In a hook that names an EvalSpec by
// its key, the key is replaced by the name of that evaluation's folder.
[[nodiscard]] std::vector<AnyHook> HooksOf(const Job& job);

// Returns the name of the input_fn whose features a prediction or a server takes: predict's,
// otherwise the first eval_spec's, otherwise the train_spec's. Error kUsage if the job has none.
[[nodiscard]] std::string ServedInput(const Job& job);

}  // namespace tpuest::cli

// Each instantiation is code for hundreds of options, so only the *_types.cpp contain them.
namespace tpuest::config {
extern template const Type* TypeOf<cli::Job>();
extern template const Type* TypeOf<models::AnyModel>();
extern template const Type* TypeOf<std::map<std::string, data::InputFnOptions>>();
extern template const Type* TypeOf<nn::FeatureColumns>();
extern template const Type* TypeOf<std::optional<nn::EmbeddingConfigSpec>>();
extern template const Type* TypeOf<std::optional<nn::AnyOptimizer>>();
extern template const Type* TypeOf<RunConfig>();
extern template const Type* TypeOf<std::optional<WarmStartFrom>>();
extern template const Type* TypeOf<cli::PredictOptions>();
extern template const Type* TypeOf<ExportOptions>();
extern template const Type* TypeOf<cli::TpuestOptions>();
extern template const Type* TypeOf<std::optional<TrainSpec>>();
extern template const Type* TypeOf<std::optional<EvalSpecs>>();
}  // namespace tpuest::config
