#include "cli/job/tensorflow_names.h"

namespace tpuest::cli {
namespace {

using config::OtherKey;
using config::OtherType;

constexpr bool kAccepted = true;

constexpr std::string_view kTop;
constexpr std::string_view kConfig = "run_config";
constexpr std::string_view kTpu = "run_config.tpu_config";
constexpr std::string_view kSession = "run_config.session_config";
constexpr std::string_view kGpu = "run_config.session_config.gpu_options";
constexpr std::string_view kEvaluate = "eval_spec eval_spec.*";
constexpr std::string_view kExport = "export";
constexpr std::string_view kPremade =
    "LinearClassifier LinearRegressor LinearEstimator DNNClassifier DNNRegressor DNNEstimator "
    "DNNLinearCombinedClassifier DNNLinearCombinedRegressor DNNLinearCombinedEstimator "
    "BaselineClassifier BaselineRegressor BaselineEstimator";
constexpr std::string_view kEmbeddings = "embedding_column shared_embedding_columns";
constexpr std::string_view kTpuEmbeddings =
    "tpu.experimental.embedding_column tpu.experimental.shared_embedding_columns";
constexpr std::string_view kTables = "embedding_config_spec";
constexpr std::string_view kHeads = "BinaryClassHead MultiClassHead MultiLabelHead RegressionHead";
constexpr std::string_view kTrainOptimizers =
    "GradientDescentOptimizer MomentumOptimizer AdagradOptimizer AdamOptimizer RMSPropOptimizer "
    "FtrlOptimizer LARSOptimizer";
constexpr std::string_view kKerasOptimizers = "SGD Adam Adagrad RMSprop Ftrl";
constexpr std::string_view kSchedules =
    "exponential_decay natural_exp_decay inverse_time_decay polynomial_decay piecewise_constant "
    "cosine_decay cosine_decay_restarts";
constexpr std::string_view kSources = "TFRecordDataset TextLineDataset FixedLengthRecordDataset";
constexpr std::string_view kMapped = "TextLineDataset FixedLengthRecordDataset";
constexpr std::string_view kCsv = "make_csv_dataset";

constexpr std::string_view kOneProgram = "not needed: every op runs on the device of the step";
constexpr std::string_view kProcesses =
    "`tpuest run --processes N` or a launcher's variables define the processes";
constexpr std::string_view kPartitions =
    "not needed: a variable must fit in memory and is not divided over processes";

constexpr OtherKey kOtherKeys[] = {
    // TPUEstimator, Estimator
    {kTop, "model_fn", "`model:` is the model_fn: a type with its arguments"},
    {kTop, "model_dir", "run_config.model_dir, or --model-dir DIR"},
    {kTop, "config", "`run_config:` is the RunConfig"},
    {kTop, "outside_compilation",
     "ops of strings and tables run outside the TPU's program without being marked, also in "
     "exports",
     kAccepted},
    {"scaffold_fn", "init_op",
     "variables start with the values of their initializers or of warm_start_from"},
    {"scaffold_fn", "init_fn",
     "warm_start_from and the `weights` of layers set other initial values"},
    {"scaffold_fn", "ready_op", "a run starts once its variables have values", kAccepted},
    {"scaffold_fn", "ready_for_local_init_op", "a run starts once its variables have values",
     kAccepted},
    {"scaffold_fn", "local_init_op",
     "tables and metrics are initialized before the first step; local_init sets variables",
     kAccepted},
    {"scaffold_fn", "summary_op", "`summaries:` names what is recorded"},
    {"scaffold_fn", "saver", "restore: {NAME IN THE CHECKPOINT: VARIABLE}"},
    {"scaffold_fn", "copy_from_scaffold", "a job has one scaffold"},
    // Estimator's methods
    {kEvaluate, "checkpoint_path", "evaluate --checkpoint PATH or STEP"},
    {kExport, "input_receiver_fn_map", "experimental_mode names the modes that are exported"},
    // RunConfig
    {kConfig, "master", "--device tpu selects a TPU"},
    {kConfig, "evaluation_master", "evaluate in a separate process: evaluate --follow"},
    {kConfig, "cluster", kProcesses},
    {kConfig, "device_fn", kOneProgram},
    {kConfig, "protocol",
     "processes on one machine use Unix sockets, processes on several use gRPC", kAccepted},
    {kConfig, "experimental_distribute", "train_distribute and eval_distribute name strategies"},
    {kConfig, "experimental_max_worker_delay_secs", "all workers start at once", kAccepted},
    {kConfig, "session_creation_timeout_secs",
     "no session has to be created; tpuest.deadlines limits how long processes wait", kAccepted},
    // TPUConfig
    {kTpu, "tpu_job_name", "no TPU cluster with named jobs is used", kAccepted},
    {kTpu, "initial_infeed_sleep_secs", "the first step waits for its batch", kAccepted},
    {kTpu, "experimental_allow_per_host_v2_parallel_get_next",
     "num_parallel_calls workers prepare batches ahead", kAccepted},
    {kTpu, "experimental_feed_hook", "rows come from an input_fn; train_spec.hooks names hooks"},
    // ConfigProto
    {kSession, "device_count", "--device selects the device, num_shards the number of replicas"},
    {kSession, "inter_op_parallelism_threads",
     "ops of one step run one after the other, each on intra_op_parallelism_threads", kAccepted},
    {kSession, "use_per_session_threads", "tpuest has one session", kAccepted},
    {kSession, "session_inter_op_thread_pool", "tpuest has one session", kAccepted},
    {kSession, "placement_period", kOneProgram, kAccepted},
    {kSession, "device_filters", kOneProgram, kAccepted},
    {kGpu, "allocator_type", "a plugin has its own"},
    {kGpu, "deferred_deletion_bytes", "a plugin has its own allocator", kAccepted},
    {kGpu, "polling_active_delay_usecs", "a plugin waits in its own way", kAccepted},
    {kGpu, "polling_inactive_delay_msecs", "a plugin waits in its own way", kAccepted},
    {kGpu, "force_gpu_compatible", "batches are copied to a device by its plugin", kAccepted},
    {kGpu, "experimental", "its fields have no meaning in tpuest"},
    {kSession, "allow_soft_placement", kOneProgram, kAccepted},
    {kSession, "log_device_placement", kOneProgram, kAccepted},
    {kSession, "graph_options", "precision and fusion have separate keys, which `plan` shows"},
    {kSession, "operation_timeout_in_ms", "tpuest.deadlines.step_secs bounds a step"},
    {kSession, "rpc_options", kProcesses},
    {kSession, "cluster_def", kProcesses},
    {kSession, "isolate_session_state", "tpuest has one session", kAccepted},
    {kSession, "share_cluster_devices_in_session", "tpuest has one session", kAccepted},
    {kSession, "experimental", "its fields have no meaning in tpuest"},
    // premade estimators
    {kPremade, "model_dir", "run_config.model_dir, or --model-dir DIR"},
    {kPremade, "config", "`run_config:` is the RunConfig"},
    {kPremade, "warm_start_from", "warm_start_from is a key at the top level"},
    {kPremade, "partitioner", kPartitions},
    {kPremade, "input_layer_partitioner", kPartitions},
    // feature columns
    {"categorical_column_with_vocabulary_file", "file_format",
     "the file is text with one word per line"},
    {kEmbeddings, "ckpt_to_load_from",
     "warm_start_from: {ckpt_to_initialize_from: , vars_to_warm_start: } loads a table"},
    {kEmbeddings, "tensor_name_in_ckpt",
     "warm_start_from.var_name_to_prev_var_name maps a table to its name in the checkpoint"},
    {kEmbeddings, "use_safe_embedding_lookup",
     "an example without a value gives zeros, as the safe lookup does", kAccepted},
    {kTpuEmbeddings, "use_safe_embedding_lookup",
     "an example without a value gives zeros, as the safe lookup does", kAccepted},
    {"sequence_numeric_column", "dtype", "the feature's own"},
    // tables
    {kTables, "clipping_limit", "TensorFlow never reads it; clip_gradient_max clips", kAccepted},
    {kTables, "sparse_core_embedding_config",
     "SparseCores are not used: tables are part of the step, and num_cores_per_replica cores share "
     "their rows"},
    {kTables, "profile_data_directory", "`plan` shows how many bytes a step moves"},
    {"embedding_config_spec.table_to_config_dict.*", "hot_id_replication",
     "every replica has all rows", kAccepted},
    // heads
    {kHeads, "loss_fn", "head: {type: CustomHead, loss: FORMULA}"},
    // optimizers and schedules
    {kTrainOptimizers, "use_locking", "updates of a variable never run concurrently", kAccepted},
    {kTrainOptimizers, "name", "slots are named after the optimizer's type"},
    {"FtrlOptimizer", "accum_name", "slots are named after the optimizer's type"},
    {"FtrlOptimizer", "linear_name", "slots are named after the optimizer's type"},
    {kKerasOptimizers, "name", "slots are named after the optimizer's type"},
    {"Adam", "amsgrad", "use Adam without amsgrad"},
    {kSchedules, "global_step", "a schedule always uses the global step", kAccepted},
    {"piecewise_constant", "x", "a schedule always uses the global step", kAccepted},
    {kSchedules, "name", "its summary is learning_rate", kAccepted},
    // tf.data
    {kSources, "name", "an input_fn's name is its key", kAccepted},
    {kMapped, "buffer_size", "files are mapped", kAccepted},
    {kMapped, "num_parallel_reads", "num_parallel_calls, beside the source, says how many read",
     kAccepted},
    {"SparseFeature", "already_sorted", "places are taken in any order", kAccepted},
    {"RaggedFeature", "row_splits_dtype", "the lengths of lists are stored in another form",
     kAccepted},
    {"RaggedFeature", "validate", "each list is checked", kAccepted},
    {"RaggedFeature", "partitions",
     "a FixedLenSequenceFeature has rows of one shape; lists of lists are not supported"},
    {kCsv, "prefetch_buffer_size", "prefetch, beside the source"},
    {kCsv, "num_parallel_reads", "num_parallel_calls, beside the source"},
    {kCsv, "sloppy", "batches arrive in order for any number of workers"},
    {kCsv, "ignore_errors", "tpuest.data_errors sets how bad records are treated"},
    {kCsv, "encoding", "bytes are read unchanged; invalid UTF-8 is detected"},
    {"input_fns.*", "shard",
     "the processes of a group share the rows by themselves; stages: [shard: ...] is Dataset.shard",
     kAccepted},
    // exporters and hooks
    {"BestExporter", "event_file_pattern", "the run's own files record the best evaluation"},
    {"BestExporter", "compare_fn", "compare: {metric: , mode: }"},
    {"CheckpointSaverHook", "checkpoint_dir", "run_config.model_dir"},
    {"CheckpointSaverHook", "saver", "run_config sets how many checkpoints are kept"},
    {"CheckpointSaverHook", "checkpoint_basename", "checkpoints are called model.ckpt-STEP"},
    {"CheckpointSaverHook SummarySaverHook", "scaffold", "the run's own"},
    {"CheckpointSaverHook", "listeners", "train_spec.saving_listeners"},
    {"CheckpointSaverHook", "save_graph_def", "run_config.checkpoint_save_graph_def"},
    {"LoggingTensorHook", "formatter", "ExecHook gets values, and prints them its own way"},
    {"StepCounterHook SummarySaverHook", "summary_writer", "output_dir names another folder"},
    {"SummarySaverHook", "summary_op", "`summaries:` names what is recorded"},
    {"ProfilerHook", "show_dataflow", "a trace has no arrows between ops", kAccepted},
    {"ProfilerHook", "show_memory", "`plan` shows the memory of a step", kAccepted},
    {"NanTensorHook", "loss_tensor", "the hook checks the loss and all trained variables",
     kAccepted},
    // Not TensorFlow's: a choice that would only be a way to leave it out.
    {"tpuest.cluster", "encrypt",
     "a token encrypts all traffic between processes; `insecure` runs without a token", kAccepted},
};

constexpr OtherType kOtherTypes[] = {
    {"AdadeltaOptimizer", "AdagradOptimizer and RMSPropOptimizer also adapt the rate per weight"},
    {"AdagradDAOptimizer", "FtrlOptimizer also has l1_regularization_strength"},
    {"ProximalAdagradOptimizer", "FtrlOptimizer also has l1_regularization_strength"},
    {"ProximalGradientDescentOptimizer", "FtrlOptimizer also has l1_regularization_strength"},
    {"Adadelta", "Adagrad and RMSprop also adapt the rate per weight"},
    {"Adamax", "Adam is similar, with the L2 norm instead of the maximum norm"},
    {"Nadam", "Adam is the same without Nesterov momentum"},
    {"linear_cosine_decay", "write it as a formula of step: learning_rate: \"...\""},
    {"piecewise_constant_decay", "piecewise_constant"},
    {"noisy_linear_cosine_decay", "a schedule without noise: cosine_decay"},
    {"CheckpointInputPipelineHook", "built in: every checkpoint has the input's position"},
    // Hooks that an evaluation or a prediction refuses; train_spec.hooks takes them.
    {"CheckpointSaverHook", "train_spec.hooks: only a training changes what would be saved"},
    {"InMemoryEvaluatorHook", "train_spec.hooks: it evaluates within a training"},
    {"StepCounterHook", "train_spec.hooks: the global step does not advance outside training"},
    {"SummarySaverHook", "train_spec.hooks and eval_spec.hooks: a prediction has no summaries"},
    {"stop_if_higher_hook", "train_spec.hooks: the hook ends a training"},
    {"stop_if_lower_hook", "train_spec.hooks: the hook ends a training"},
    {"stop_if_no_increase_hook", "train_spec.hooks: the hook ends a training"},
    {"stop_if_no_decrease_hook", "train_spec.hooks: the hook ends a training"},
    {"make_early_stopping_hook", "train_spec.hooks: the hook ends a training"},
    {"make_stop_at_checkpoint_step_hook", "train_spec.hooks: the hook ends a training"},
    {"FinalOpsHook", "an ExecHook with `on: end` receives the last values"},
    {"FeedFnHook", "rows come from an input_fn"},
    {"GlobalStepWaiterHook", "start the command when the run should begin"},
    {"BoundedAdagradParameters", "AdagradParameters, with clip_gradient_max"},
    {"CenteredRMSPropParameters", "RMSPropParameters, which subtracts no mean gradient"},
    {"MDLAdagradLightParameters", "AdagradMomentumParameters also has momentum"},
    {"AdadeltaParameters",
     "AdagradParameters and RMSPropParameters also adapt the rate per weight"},
    {"OnlineYogiParameters", "ProximalYogiParameters"},
};

}  // namespace

config::OtherNames TensorFlowNames() { return {kOtherKeys, kOtherTypes}; }

}  // namespace tpuest::cli
