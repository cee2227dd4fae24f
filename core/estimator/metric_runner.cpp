#include "core/estimator/metric_runner.h"

#include "core/estimator/call_named.h"
#include "core/estimator/variables.h"

namespace tpuest {
namespace {

Shape AnyRows(const Shape& shape) {
  Shape result = shape;
  if (result.rank() > 0) result.set_dim(0, kUnknownDim);
  return result;
}

void CheckNames(const std::map<std::string, MetricOps>& metrics) {
  if (metrics.contains("loss")) {
    throw Error(Code::kUsage,
                "Metric with name \"loss\" is not allowed, because Estimator already defines a "
                "default metric with the same name.");
  }
  if (metrics.contains("global_step")) {
    throw Error(Code::kUsage,
                "Metric with name `global_step` is not allowed, because Estimator already defines "
                "a default metric with the same name.");
  }
}

}  // namespace

void MetricRunner::Reset() {
  has_rows_ = false;
  for (const auto& [name, value] : initial_) {
    variables_.Set(name, value.valid() ? value : model_.tensors().at(name));
  }
}

void MetricRunner::Forget() {
  built_.clear();
  initial_.clear();
  variables_ = {};
  has_rows_ = false;
}

// Values of the variables that the store does not have yet: the model's, or initial ones.
void MetricRunner::InitializeMissing(const Graph& graph) {
  VariableStore initial;
  InitializeVariables(backend_, graph, Which::kAll, 0, initial);
  for (const auto& [name, value] : initial.tensors()) {
    if (variables_.Has(name)) continue;
    const bool is_model = !graph.FindVariable(name)->local && model_.Has(name);
    variables_.Set(name, is_model ? model_.tensors().at(name) : value);
    initial_[name] = is_model ? Tensor() : value;
  }
}

MetricRunner::Built& MetricRunner::BuiltFor(const EvalMetrics& metrics) {
  std::vector<std::string> names;
  for (const auto& [name, value] : metrics.tensors) names.push_back(name);
  const auto found = built_.find(names);
  if (found != built_.end()) return found->second;
  Built built{.graph = std::make_unique<Graph>(registry_)};
  const AfterScope after(*built.graph);
  std::map<std::string, Value> placeholders;
  for (const auto& [name, value] : metrics.tensors) {
    built.inputs.push_back(
        built.graph->Placeholder(value.dtype(), AnyRows(value.shape()), "input"));
    placeholders[name] = built.inputs.back();
  }
  built.metrics =
      CallNamed("eval_metrics", log_, [&] { return metrics.fn(*built.graph, placeholders); });
  CheckNames(built.metrics);
  InitializeMissing(*built.graph);
  return built_.emplace(std::move(names), std::move(built)).first->second;
}

Program& MetricRunner::UpdateFor(Built& built, std::span<const Tensor> tensors) {
  std::vector<int64_t> rows;
  ProgramSpec spec{.graph = built.graph.get()};
  for (size_t i = 0; i < tensors.size(); ++i) {
    const Shape& shape = tensors[i].shape();
    rows.push_back(shape.rank() > 0 ? shape.dim(0) : 0);
    spec.feeds.push_back({built.inputs[i], shape, shape.rank() > 0});
  }
  std::unique_ptr<Program>& update = built.updates[rows];
  if (update != nullptr) return *update;
  for (const auto& [name, metric] : built.metrics) {
    if (metric.update != nullptr) spec.targets.push_back(metric.update);
  }
  update = backend_.Compile(spec, {.threads = threads_}, variables_);
  return *update;
}

void MetricRunner::Update(const EvalMetrics& metrics, std::span<const Tensor> tensors) {
  has_rows_ = true;
  Program& update = UpdateFor(BuiltFor(metrics), tensors);
  StepFeeds feeds;
  for (const Tensor& tensor : tensors) feeds.push_back({tensor});
  (void)update.Run({&feeds, 1});
}

std::map<std::string, Tensor> MetricRunner::Values() {
  std::map<std::string, Tensor> values;
  if (!has_rows_) return values;
  Built& built = built_.begin()->second;
  if (built.metrics.empty()) return values;
  if (built.values == nullptr) {
    ProgramSpec spec{.graph = built.graph.get()};
    for (const auto& [name, metric] : built.metrics) spec.fetches.push_back(metric.value);
    built.values = backend_.Compile(spec, {.threads = threads_}, variables_);
  }
  const StepFeeds nothing;
  const std::vector<StepResult> results = built.values->Run({&nothing, 1});
  size_t next = 0;
  for (const auto& [name, metric] : built.metrics) {
    values[name] = results.front().fetches[next++].front();
  }
  return values;
}

}  // namespace tpuest
