#include "core/estimator/step/distributions.h"

#include "core/estimator/step/model/media_summaries.h"
#include "core/sharding/split.h"

namespace tpuest {
namespace {

std::vector<Value> FetchesOf(const TPUEstimatorSpec& spec) {
  std::vector<Value> fetches;
  for (const auto& [name, value] : spec.activations) fetches.push_back(value);
  for (const auto& [tag, value] : spec.histograms) fetches.push_back(value);
  for (const ShownTensor& shown : spec.shown) fetches.push_back(shown.value);
  return fetches;
}

float FractionOfZeros(const Tensor& tensor) {
  int64_t zeros = 0;
  for (int64_t i = 0; i < tensor.elements(); ++i) zeros += tensor.AsDouble(i) == 0 ? 1 : 0;
  return static_cast<float>(zeros) / static_cast<float>(tensor.elements());
}

void AddShown(const ShownTensor& shown, const Tensor& whole, std::vector<SummaryValue>& summaries) {
  switch (shown.kind) {
    case ShownTensor::Kind::kHistogram:
      summaries.push_back({.tag = shown.tag, .value = HistogramOf(whole)});
      return;
    case ShownTensor::Kind::kText:
      summaries.push_back({.tag = shown.tag, .value = whole, .plugin_name = "text"});
      return;
    case ShownTensor::Kind::kImage:
      for (SummaryValue& image : ImageSummaries(shown.tag, whole, shown.most)) {
        summaries.push_back(std::move(image));
      }
      return;
    case ShownTensor::Kind::kAudio:
      for (SummaryValue& sound : AudioSummaries(shown.tag, whole, shown.most, shown.sample_rate)) {
        summaries.push_back(std::move(sound));
      }
  }
}

}  // namespace

Distributions::Distributions(const Backends& backends, VariableStore& variables,
                             const BuiltModel& model, const CompileOptions& options, bool broadcast)
    : model_(model),
      fetches_(FetchesOf(model.spec)),
      programs_(backends, variables,
                {.graph = *model.graph,
                 .inputs = model.inputs,
                 .fetches = fetches_,
                 .broadcast = broadcast,
                 .options = options}) {}

std::vector<SummaryValue> Distributions::Compute(const Batch& batch) {
  const std::vector<Tensor> inputs = InputsOf(model_, batch);
  const std::shared_ptr<StepProgram> program = programs_.For(inputs, ShapesOf(inputs));
  const StepFeeds feeds = program->Prepare(inputs);
  const StepResult result = program->RunDevice({&feeds, 1}).front();
  std::vector<SummaryValue> summaries;
  size_t fetch = 0;
  for (const auto& [name, value] : model_.spec.activations) {
    const Tensor whole = ConcatRows(result.fetches[program->DeviceIndex(fetch++)]);
    summaries.push_back(
        {.tag = name + "/fraction_of_zero_values", .value = FractionOfZeros(whole)});
    summaries.push_back({.tag = name + "/activation", .value = HistogramOf(whole)});
  }
  for (const auto& [tag, value] : model_.spec.histograms) {
    const Tensor& of_first = result.fetches[program->DeviceIndex(fetch++)].front();
    summaries.push_back({.tag = tag, .value = HistogramOf(of_first)});
  }
  for (const ShownTensor& shown : model_.spec.shown) {
    const size_t wanted = fetch++;
    AddShown(shown, program->Finish(feeds, result, {&wanted, 1}).front(), summaries);
  }
  return summaries;
}

}  // namespace tpuest
