#include "cli/check/model_check.h"

#include <algorithm>

#include "cli/job/job.h"
#include "cli/job/outside_code.h"
#include "core/base/faults.h"
#include "core/estimator/step/batch_axis.h"
#include "core/estimator/step/input_partition.h"
#include "core/estimator/step/model/model_builder.h"
#include "core/ops/all_ops.h"
#include "data/pipeline/input_fn.h"
#include "data/sources/live_source.h"

namespace tpuest::cli {
namespace {

struct ModeInput {
  Mode mode;
  std::string input_fn;
  std::optional<int64_t> batch_size;
};

std::vector<ModeInput> ModeInputs(const Job& job) {
  const EstimatorOptions& estimator = job.estimator;
  const auto eval_batch =
      estimator.eval_batch_size ? estimator.eval_batch_size : estimator.train_batch_size;
  const auto predict_batch =
      estimator.predict_batch_size ? estimator.predict_batch_size : eval_batch;
  std::vector<ModeInput> inputs;
  if (job.train_spec) {
    inputs.push_back({Mode::kTrain, job.train_spec->input_fn, estimator.train_batch_size});
  }
  for (const NamedEvalSpec& named : EvalSpecsOf(job)) {
    inputs.push_back({Mode::kEval, named.spec->input_fn, eval_batch});
  }
  if (job.predict.input_fn) {
    inputs.push_back({Mode::kPredict, *job.predict.input_fn, predict_batch});
  }
  return inputs;
}

// Returns true if a generator feeds the input; only a run starts it.
bool StartsProgram(const Job& job, const std::string& input_fn) {
  const std::string section = fmt::format("input_fns.{}.", input_fn);
  const std::vector<Fault> programs = OutsideCodeOf(job);
  return std::any_of(programs.begin(), programs.end(),
                     [&](const Fault& fault) { return fault.key.starts_with(section); });
}

// Returns the features and labels of the model's input, from the job or from the input's files.
// nullopt if only the generator knows them, or if the files are missing or damaged here: the
// machine that trains may have them.
std::optional<StreamSpec> SpecOf(const Job& job, const ModeInput& input) {
  const data::InputFnOptions& options = job.input_fns.at(input.input_fn);
  if (std::optional<StreamSpec> known = data::KnownSpec(options, input.input_fn)) return known;
  if (data::IsLive(options.source) || StartsProgram(job, input.input_fn)) return std::nullopt;
  try {
    return data::MakeInputFn(options, input.input_fn)({.mode = input.mode})->spec();
  } catch (const Error& error) {
    if (error.code() != Code::kData) throw;
    return std::nullopt;
  }
}

void Build(const Job& job, const ModeInput& input) {
  const std::optional<StreamSpec> spec = SpecOf(job, input);
  if (!spec || !input.batch_size) return;
  const EstimatorOptions& estimator = job.estimator;
  const int replicas = ReplicasOf(estimator);
  const bool whole = !estimator.use_tpu || Broadcasts(estimator.run_config.tpu_config);
  const int64_t rows = whole ? *input.batch_size : *input.batch_size / replicas;
  const OpRegistry registry(ops::AllOps());
  const ModelFn model_fn =
      WithBatchAxis(WithInputPartition(MakeModelFnForShapes(job), estimator.run_config.tpu_config),
                    estimator.batch_axis);
  std::ignore = BuildModel(
      model_fn, registry,
      {.mode = input.mode,
       .stream = *spec,
       .rows = rows,
       .params = {.batch_size = rows, .use_tpu = estimator.use_tpu, .replicas = replicas}});
}

}  // namespace

std::vector<Fault> CheckModel(const Job& job) {
  Faults faults;
  faults.Catch([&] {
    for (const ModeInput& input : ModeInputs(job)) Build(job, input);
  });
  return faults.Take();
}

}  // namespace tpuest::cli
