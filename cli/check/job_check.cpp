#include "cli/check/job_check.h"

#include <tuple>

#include "cli/check/column_check.h"
#include "cli/check/option_check.h"
#include "cli/check/spec_check.h"
#include "cli/job/epochs.h"
#include "cli/job/job.h"
#include "cli/job/step_counts.h"
#include "core/base/faults.h"
#include "core/nn/formula/formula.h"
#include "core/ops/all_ops.h"
#include "data/pipeline/input_fn.h"

namespace tpuest::cli {
namespace {

void CheckOptimizer(const Job& job, Faults& faults) {
  faults.Expect(!job.optimizer || !models::NamesOptimizers(job.model), "optimizer",
                "the model names its own optimizers, so the job's `optimizer` would be ignored",
                "leave out `optimizer`, or move it into `model`");
  const bool averages = models::KeepsAverages(job.model) ||
                        (job.optimizer && nn::AverageOf(*job.optimizer) != nullptr);
  faults.Expect(!averages || job.estimator.run_config.checkpoint_format != "checkpoint",
                "run_config.checkpoint_format",
                "object-based checkpoints cannot hold an ExponentialMovingAverage",
                "checkpoint_format: saver");
}

void CheckFormulas(const Job& job, Faults& faults) {
  for (const auto& initial : job.scaffold_fn.local_init) {
    faults.Catch([&] { nn::CheckFormula(initial.second); });
  }
  const EpochFinder rates = RatesOf(job);
  for (const Formula& rate : rates.formulas()) {
    const OpRegistry registry(ops::AllOps());
    Graph graph(registry);
    faults.Catch([&] { std::ignore = nn::LearningRateAt(graph, rate, /*steps_per_epoch=*/1.0); });
  }
}

}  // namespace

std::vector<Fault> ValidateJob(const Job& job) {
  Faults faults;
  faults.Expect(job.version == 1, "version", fmt::format("version is {}; expected 1", job.version),
                "version: 1");
  faults.AddAll(Validate(job.estimator));
  faults.AddAll(CheckColumns(job));
  CheckOptimizer(job, faults);
  faults.AddAll(CheckSpecs(job));
  CheckFormulas(job, faults);
  faults.AddAll(CheckStepCounts(job));
  faults.AddAll(Validate(job.export_options));
  faults.AddAll(CheckOptions(job));
  for (const auto& input_fn : job.input_fns) {
    faults.Catch([&] { std::ignore = data::MakeInputFn(input_fn.second, input_fn.first); });
  }
  return faults.Take();
}

}  // namespace tpuest::cli
