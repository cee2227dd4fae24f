#include "cli/check/spec_check.h"

#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "cli/check/early_stopping_check.h"
#include "cli/job/job.h"
#include "core/base/faults.h"
#include "core/base/text.h"
#include "core/estimator/model_dir/model_dir.h"
#include "core/estimator/step/estimator_context.h"
#include "core/sharding/batch_size.h"

namespace tpuest::cli {
namespace {

class SpecCheck {
 public:
  explicit SpecCheck(const Job& job) : job_(job) {}

  std::vector<Fault> Run() {
    if (job_.train_spec) CheckTrain();
    if (job_.eval_spec) CheckEvaluate();
    faults_.AddAll(ValidateHooks(job_.predict.hooks, "predict.hooks"));
    if (job_.predict.input_fn) CheckInput("predict.input_fn", *job_.predict.input_fn);
    CheckKeepBest();
    return faults_.Take();
  }

 private:
  void CheckTrain() {
    CheckInput("train_spec.input_fn", job_.train_spec->input_fn);
    faults_.AddAll(Validate(job_.train_spec->length(), job_.estimator.use_tpu));
    faults_.AddAll(ValidateHooks(job_.train_spec->hooks, "train_spec.hooks"));
    faults_.AddAll(
        ValidateListeners(job_.train_spec->saving_listeners, "train_spec.saving_listeners"));
    CheckEvaluators();
    faults_.AddAll(CheckEarlyStopping(job_));
    if (!job_.optimizer && !models::NamesOptimizers(job_.model)) {
      faults_.Say("train_spec", "training needs an optimizer",
                  "optimizer: {type: GradientDescentOptimizer, learning_rate: 0.05}");
    }
    CheckBatch("train", job_.estimator.train_batch_size);
    CheckBuckets(job_.train_spec->input_fn);
  }

  // The evaluations within a training.
  void CheckEvaluators() {
    std::set<std::string> names;
    for (size_t i = 0; i < job_.train_spec->hooks.size(); ++i) {
      const AnyHook& hook = job_.train_spec->hooks[i];
      const auto* const evaluator = std::get_if<InMemoryEvaluatorHookOptions>(&hook);
      if (evaluator == nullptr) continue;
      const std::string key = fmt::format("train_spec.hooks[{}]", i);
      CheckInput(key + ".input_fn", evaluator->input_fn);
      const std::string name = evaluator->name.value_or("");
      faults_.Expect(
          names.insert(name).second, key + ".name",
          fmt::format("two evaluations during training write events to {}/", EvalFolderName(name)),
          "give each a different name");
    }
  }

  // Replicas split a batch, or take one each of the same size.
  void CheckBuckets(const std::string& name) {
    const auto found = job_.input_fns.find(name);
    if (found == job_.input_fns.end() || found->second.stages.empty()) return;
    const std::vector<data::StageOptions>& stages = found->second.stages;
    if (!stages.back().bucket_by_sequence_length) return;
    const std::string key =
        fmt::format("input_fns.{}.stages[{}].bucket_by_sequence_length", name, stages.size() - 1);
    const EstimatorOptions& options = job_.estimator;
    if (!options.use_tpu) {
      const int replicas = ReplicasIn(options, Mode::kTrain);
      faults_.Expect(
          replicas <= 1, key,
          fmt::format("the {} replicas of a strategy need batches of one size", replicas),
          "padded_batch, or train_distribute with num_replicas: 1");
      return;
    }
    for (const int64_t size : stages.back().bucket_by_sequence_length->bucket_batch_sizes) {
      if (size == options.train_batch_size) continue;
      faults_.Say(key + ".bucket_batch_sizes",
                  fmt::format("a bucket's batch is {}, but use_tpu: true trains only on batches of "
                              "train_batch_size",
                              size),
                  "use train_batch_size for each bucket, or use_tpu: false");
      return;
    }
  }

  void CheckEvaluate() {
    faults_.AddAll(Validate(*job_.eval_spec));
    for (const NamedEvalSpec& named : EvalSpecsOf(job_)) {
      CheckInput(named.key + ".input_fn", named.spec->input_fn);
      faults_.AddAll(ValidateHooks(named.spec->hooks, named.key + ".hooks"));
    }
    CheckBatch("eval", job_.estimator.eval_batch_size);
  }

  void CheckKeepBest() {
    const std::optional<KeepBest>& keep = job_.estimator.run_config.keep_best;
    if (keep && keep->eval) CheckEval("run_config.keep_best.eval", *keep->eval);
  }

  // Says a fault where another section names an evaluation that is none of eval_spec.
  void CheckEval(const std::string& key, const std::string& name) {
    std::vector<std::string> labels;
    for (const NamedEvalSpec& named : EvalSpecsOf(job_)) {
      if (named.label == name) return;
      labels.push_back(named.label);
    }
    faults_.Say(key, fmt::format("eval_spec has no evaluation '{}'", name),
                fmt::format("there are: {}", labels.empty() ? "none" : Join(labels, ", ")));
  }

  void CheckBatch(std::string_view mode, const std::optional<int64_t>& size) {
    const EstimatorOptions& options = job_.estimator;
    const bool on_host = mode == "eval" && !options.eval_on_tpu.value_or(true);
    if (!options.use_tpu || on_host || !size || *size <= 0) return;
    if (Broadcasts(options.run_config.tpu_config) || options.uneven_batches == "pad") return;
    const int replicas = ReplicasOf(job_.estimator);
    if (replicas <= 0) return;
    if (const auto fault = CheckBatchSize(mode, *size, replicas)) faults_.Add(*fault);
  }

  void CheckInput(const std::string& key, const std::string& name) {
    if (job_.input_fns.contains(name)) return;
    std::vector<std::string> names;
    for (const auto& [known, options] : job_.input_fns) names.push_back(known);
    const auto nearest = Nearest(name, names);
    faults_.Say(key, fmt::format("input_fns has no '{}'", name),
                nearest ? fmt::format("did you mean '{}'?", *nearest)
                        : fmt::format("there are: {}", names.empty() ? "none" : Join(names, ", ")));
  }

  const Job& job_;
  Faults faults_;
};

}  // namespace

std::vector<Fault> CheckSpecs(const Job& job) { return SpecCheck(job).Run(); }

}  // namespace tpuest::cli
