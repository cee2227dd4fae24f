#include "cli/job/step_counts.h"

#include <fmt/format.h>

#include <optional>
#include <string_view>
#include <utility>

#include "cli/job/job.h"
#include "config/reflect.h"
#include "core/base/faults.h"
#include "core/base/step_count.h"
#include "core/base/text.h"
#include "core/estimator/step/estimator_context.h"
#include "data/pipeline/input_fn.h"
#include "data/sources/open_source.h"

namespace tpuest::cli {
namespace {

using config::Type;
using config::Value;

struct FoundCount {
  std::string key;
  StepCount* count = nullptr;
};

// Finds the counts in epochs in a value and everything below it.
class CountFinder {
 public:
  void Look(const Value& value, const std::string& key) {
    using Kind = Type::Kind;
    switch (value.type->kind) {
      case Kind::kInteger:
        return LookAtInteger(value, key);
      case Kind::kSection:
        for (const config::Member& member : config::MembersOf(value)) {
          Look(member.value, fmt::format("{}.{}", key, member.name));
        }
        return;
      case Kind::kOptional:
      case Kind::kMap:
      case Kind::kList:
        return LookAtItems(value, key);
      case Kind::kVariant:
        return Look(
            {value.type->alternatives[value.type->index(value.at)], value.type->chosen(value.at)},
            key);
      default:
        return;
    }
  }
  [[nodiscard]] std::vector<FoundCount> Take() { return std::exchange(found_, {}); }

 private:
  void LookAtInteger(const Value& value, const std::string& key) {
    if (value.type->set_epochs == nullptr) return;
    auto* const count = static_cast<StepCount*>(value.at);
    if (count->in_epochs()) found_.push_back({key, count});
  }
  void LookAtItems(const Value& value, const std::string& key) {
    size_t index = 0;
    for (const config::Item& item : config::ItemsOf(value)) {
      if (value.type->kind == Type::Kind::kOptional) {
        Look(item.value, key);
      } else if (value.type->kind == Type::Kind::kMap) {
        Look(item.value, fmt::format("{}.{}", key, item.key));
      } else {
        Look(item.value, fmt::format("{}[{}]", key, index++));
      }
    }
  }

  std::vector<FoundCount> found_;
};

std::vector<FoundCount> CountsOf(Job& job) {
  CountFinder finder;
  finder.Look(config::ValueOf(job.estimator.run_config), "run_config");
  finder.Look(config::ValueOf(job.train_spec), "train_spec");
  finder.Look(config::ValueOf(job.eval_spec), "eval_spec");
  return finder.Take();
}

// Returns true for the key of a hook of an evaluation or a prediction, also of one during training.
bool IsInEvalHook(const std::string& key) {
  constexpr std::string_view kHooks = "hooks[";
  const size_t first = key.find(kHooks);
  if (first == std::string::npos) return false;
  return !key.starts_with("train_spec") || key.find(kHooks, first + 1) != std::string::npos;
}

double ExamplesOfStep(const EstimatorOptions& options) {
  return static_cast<double>(*options.train_batch_size) * BatchesIn(options, Mode::kTrain);
}

std::string LengthHint(const Job& job, const FoundCount& found) {
  const std::string name = found.key.substr(found.key.rfind('.') + 1);
  if (!job.estimator.train_batch_size) {
    return fmt::format("set train_batch_size, or write the count in steps: {}: 1000", name);
  }
  return fmt::format("in steps: {}: 1000", name);
}

}  // namespace

std::optional<double> StepsOfEpoch(const Job& job) {
  if (job.steps_per_epoch) return job.steps_per_epoch;
  if (!job.train_spec || !job.estimator.train_batch_size) return std::nullopt;
  const std::string& name = job.train_spec->input_fn;
  const data::InputFnOptions& options = job.input_fns.at(name);
  // Standard input cannot be read again after counting.
  if (data::ReadsStandardInput(options.source)) return std::nullopt;
  std::optional<int64_t> examples = data::KnownSize(options, name);
  if (!examples) {
    const InputContext context{.batch_size = *job.estimator.train_batch_size};
    examples = data::MakeInputFn(options, name)(context)->epoch_size();
  }
  if (!examples) return std::nullopt;
  return static_cast<double>(*examples) / ExamplesOfStep(job.estimator);
}

std::string EpochCount::Text() const {
  return fmt::format("{}: {} is {} step{}", key, written, WithCommas(steps), steps == 1 ? "" : "s");
}

std::vector<EpochCount> ResolveStepCounts(Job& job) {
  if (!job.train_spec || job.steps_per_epoch) return {};
  const std::vector<FoundCount> counts = CountsOf(job);
  if (counts.empty()) return {};
  job.steps_per_epoch = StepsOfEpoch(job);
  Faults faults;
  std::vector<EpochCount> resolved;
  for (const FoundCount& found : counts) {
    if (job.steps_per_epoch) {
      found.count->Resolve(*job.steps_per_epoch);
      resolved.push_back({found.key, found.count->Text(), int64_t{*found.count}});
      continue;
    }
    const bool has_batch = job.estimator.train_batch_size.has_value();
    faults.Say(found.key,
               fmt::format("{} is in epochs, but {}", found.count->Text(),
                           has_batch ? "the length of the training input is unknown"
                                     : "the job does not set the number of examples per step"),
               LengthHint(job, found));
  }
  faults.ThrowAny(Code::kUsage);
  return resolved;
}

std::vector<Fault> CheckStepCounts(const Job& job) {
  // Visit is not const.
  std::optional<TrainSpec> training = job.train_spec;
  std::optional<EvalSpecs> evaluations = job.eval_spec;
  PredictOptions prediction = job.predict;
  CountFinder finder;
  finder.Look(config::ValueOf(training), "train_spec");
  finder.Look(config::ValueOf(evaluations), "eval_spec");
  finder.Look(config::ValueOf(prediction), "predict");
  Faults faults;
  for (const FoundCount& found : finder.Take()) {
    faults.Expect(
        !IsInEvalHook(found.key), found.key,
        fmt::format(
            "{}: epochs refer to the training input, but this key counts batches of an evaluation",
            found.count->Text()),
        "write a number of batches");
  }
  return faults.Take();
}

}  // namespace tpuest::cli
