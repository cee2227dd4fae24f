#include "core/estimator/step/estimator_context.h"

#include <algorithm>
#include <random>
#include <thread>

#include "core/base/process/interrupt.h"
#include "core/estimator/checkpoint/rows/row_tables.h"
#include "core/estimator/contract/filled_up.h"
#include "core/estimator/step/batch_axis.h"
#include "core/sharding/batch_size.h"

namespace tpuest {
namespace {

[[noreturn]] void ThrowNoBatchSize(Mode mode) {
  switch (mode) {
    case Mode::kTrain:
      throw Error(Code::kUsage, "`train_batch_size` cannot be `None`",
                  "train_batch_size: 32; or, with use_tpu: false, make `batch` the last of the "
                  "input_fn's stages")
          .Key("train_batch_size");
    case Mode::kEval:
      throw Error(Code::kUsage,
                  "eval_batch_size in TPUEstimator constructor cannot be `None` if .evaluate is "
                  "running on TPU.",
                  "set eval_batch_size, or train_batch_size for both")
          .Key("eval_batch_size");
    default:
      throw Error(Code::kUsage,
                  "predict_batch_size in TPUEstimator constructor cannot be `None` if .predict is "
                  "running on TPU.",
                  "set predict_batch_size, or eval_batch_size or train_batch_size for both")
          .Key("predict_batch_size");
  }
}

}  // namespace

SavedState EstimatorContext::Checkpoint(const std::string& path) const {
  if (in_memory && in_memory->prefix == path) return *in_memory;
  SavedState saved = LoadCheckpoint(path);
  saved.dealt_by_mod = options.embeddings.dealt_by_mod;
  return saved;
}

uint64_t EstimatorContext::Seed(const ResumePoint& saved) {
  if (seed) return *seed;
  seeds_by_name = saved.seed ? saved.seeds_by_name : starts_by_name;
  if (options.run_config.tf_random_seed) {
    seed = static_cast<uint64_t>(*options.run_config.tf_random_seed);
  } else if (saved.seed) {
    seed = saved.seed;
  } else {
    std::random_device device;
    seed = device();
    home.log.Info("tf_random_seed is not set: using the random seed {}", *seed);
  }
  // With the seed in the options, a copy of them repeats this run.
  options.run_config.tf_random_seed = static_cast<int64_t>(*seed);
  return *seed;
}

int64_t EstimatorContext::BatchSize(Mode mode) const {
  const int64_t rows = InputBatchSize(mode);
  const bool may_fill_up = OnTpu(mode) && !BroadcastsIn(mode);
  return may_fill_up ? FilledUpSize(rows, ReplicasIn(mode)) : rows;
}

int64_t EstimatorContext::InputBatchSize(Mode mode) const {
  std::optional<int64_t> size;
  std::string_view word = "train";
  if (mode == Mode::kPredict) {
    size = options.predict_batch_size;
    word = "predict";
  }
  if (mode != Mode::kTrain && !size) size = options.eval_batch_size;
  if (mode == Mode::kEval) word = "eval";
  if (!size) size = options.train_batch_size;
  if (!size) ThrowNoBatchSize(mode);
  const int replicas = ReplicasIn(mode);
  if (!options.use_tpu) return *size * BatchesIn(options, mode);
  if (BroadcastsIn(mode) || options.uneven_batches == "pad") return *size;
  std::optional<Fault> fault = CheckBatchSize(word, *size, replicas);
  if (fault) ThrowFaults({std::move(*fault)});
  return *size;
}

bool EstimatorContext::FillsUp(Mode mode) const {
  return options.uneven_batches == "pad" && InputBatchSize(mode) != BatchSize(mode);
}

static bool IsOnTpu(const EstimatorOptions& options, Mode mode) {
  return options.use_tpu && (mode != Mode::kEval || options.eval_on_tpu.value_or(true));
}

int ReplicasIn(const EstimatorOptions& options, Mode mode) {
  const RunConfig& config = options.run_config;
  if (options.use_tpu) return IsOnTpu(options, mode) ? ReplicasOf(options) : 1;
  if (mode == Mode::kTrain) return ReplicasOf(options);
  if (mode == Mode::kEval && config.eval_distribute) return config.eval_distribute->replicas();
  return 1;
}

int BatchesIn(const EstimatorOptions& options, Mode mode) {
  return options.use_tpu ? 1 : ReplicasIn(options, mode);
}

bool EstimatorContext::OnTpu(Mode mode) const { return IsOnTpu(options, mode); }

int EstimatorContext::ReplicasIn(Mode mode) const { return tpuest::ReplicasIn(options, mode); }

int EstimatorContext::CoresIn(Mode mode) const {
  const bool shares = home.device != nullptr && OnTpu(mode);
  return shares ? options.run_config.tpu_config.CoresOfReplica() : 1;
}

bool EstimatorContext::BroadcastsIn(Mode mode) const {
  const TpuConfig& config = options.run_config.tpu_config;
  const bool sliced = mode != Mode::kTrain && config.eval_training_input_configuration == "SLICED";
  return OnTpu(mode) && Broadcasts(config) && !sliced;
}

std::unique_ptr<BatchStream> EstimatorContext::Open(const InputFn& input_fn,
                                                    const InputContext& context) const {
  std::unique_ptr<BatchStream> stream = input_fn(context);
  return options.batch_axis ? BatchFirst(std::move(stream), *options.batch_axis)
                            : std::move(stream);
}

std::unique_ptr<BatchStream> EstimatorContext::OpenBatches(const InputFn& input_fn, Mode mode,
                                                           uint64_t run_seed) const {
  const int64_t rows = InputBatchSize(mode);
  std::unique_ptr<BatchStream> stream = Open(input_fn, {.mode = mode,
                                                        .batch_size = rows,
                                                        .batches = BatchesIn(options, mode),
                                                        .seed = run_seed,
                                                        .threads = threads,
                                                        .seeds_by_name = seeds_by_name});
  if (mode != Mode::kTrain || !FillsUp(mode)) return stream;
  return FilledUp(std::move(stream), rows, BatchSize(mode));
}

std::optional<RowKeeping> EstimatorContext::RowsKept() const {
  if (!home.backends().device.keeps_rows()) return std::nullopt;
  RowKeeping keeping = KeepingOf(options.embeddings);
  keeping.owners = row_owners;
  return keeping;
}

int64_t EstimatorContext::RowsOfReplica(Mode mode, int64_t rows, int of_replicas) const {
  return BroadcastsIn(mode) ? rows : rows / of_replicas;
}

Params EstimatorContext::ParamsFor(Mode mode, int64_t rows, int of_replicas) const {
  return {.batch_size = RowsOfReplica(mode, rows, of_replicas),
          .use_tpu = OnTpu(mode),
          .replicas = of_replicas};
}

int ThreadsOf(const RunConfig& config) {
  const int threads = config.session_config.intra_op_parallelism_threads;
  return threads > 0 ? threads : std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
}

void ThrowFaults(std::vector<Fault> faults) {
  if (!faults.empty()) throw Error(Code::kUsage, std::move(faults));
}

int ExitCodeOf(const StopSignal& stop) {
  switch (stop.kind()) {
    case StopSignal::Kind::kPreempted:
      return static_cast<int>(Code::kPreempted);
    case StopSignal::Kind::kInterrupted:
      return static_cast<int>(Code::kInterrupted);
    case StopSignal::Kind::kNone:
      break;
  }
  return 0;
}

int UnsavedExitCodeOf(const StopSignal& stop) {
  const int code = ExitCodeOf(stop);
  return code == static_cast<int>(Code::kPreempted) ? kTerminatedCode : code;
}

std::string ReasonOf(const StopSignal& stop) {
  switch (stop.kind()) {
    case StopSignal::Kind::kPreempted:
      return "preempted";
    case StopSignal::Kind::kInterrupted:
      return "interrupted";
    case StopSignal::Kind::kNone:
      break;
  }
  return "";
}

void ThrowStopped(const StopSignal& stop, std::string_view what, std::string_view when) {
  throw Error(static_cast<Code>(UnsavedExitCodeOf(stop)),
              fmt::format("{} was {}{}", what, ReasonOf(stop), when),
              "its results were discarded; run it again");
}

}  // namespace tpuest
