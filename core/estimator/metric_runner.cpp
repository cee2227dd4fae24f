#include "core/estimator/metric_runner.h"

#include "core/estimator/variables.h"

namespace tpuest {
namespace {

Shape AnyRows(const Shape& shape) {
  Shape result = shape;
  if (result.rank() > 0) result.set_dim(0, kUnknownDim);
  return result;
}

}  // namespace

MetricRunner::MetricRunner(Backend& backend, const OpRegistry& registry, int threads,
                           const MetricFn& metric_fn, const std::map<std::string, Value>& tensors)
    : backend_(backend), threads_(threads), graph_(std::make_unique<Graph>(registry)) {
  const AfterScope after(*graph_);
  std::map<std::string, Value> placeholders;
  for (const auto& [name, value] : tensors) {
    inputs_.push_back(graph_->Placeholder(value.dtype(), AnyRows(value.shape()), "input"));
    placeholders[name] = inputs_.back();
  }
  metrics_ = metric_fn(*graph_, placeholders);
  CheckNames();
  InitializeVariables(backend, *graph_, Which::kAll, 0, variables_);
}

void MetricRunner::CheckNames() const {
  if (metrics_.contains("loss")) {
    throw Error(Code::kUsage,
                "Metric with name \"loss\" is not allowed, because Estimator already defines a "
                "default metric with the same name.");
  }
  if (metrics_.contains("global_step")) {
    throw Error(Code::kUsage,
                "Metric with name `global_step` is not allowed, because Estimator already defines "
                "a default metric with the same name.");
  }
}

void MetricRunner::Update(const std::vector<Tensor>& tensors) {
  std::vector<int64_t> rows;
  ProgramSpec spec{.graph = graph_.get()};
  StepFeeds feeds;
  for (size_t i = 0; i < tensors.size(); ++i) {
    const Shape& shape = tensors[i].shape();
    rows.push_back(shape.rank() > 0 ? shape.dim(0) : 0);
    spec.feeds.push_back({inputs_[i], shape, shape.rank() > 0});
    feeds.push_back({tensors[i]});
  }
  std::unique_ptr<Program>& update = updates_[rows];
  if (update == nullptr) {
    for (const auto& [name, metric] : metrics_) {
      if (metric.update != nullptr) spec.targets.push_back(metric.update);
    }
    update = backend_.Compile(spec, {.threads = threads_}, variables_);
  }
  (void)update->Run({&feeds, 1});
}

std::map<std::string, Tensor> MetricRunner::Values() {
  ProgramSpec spec{.graph = graph_.get()};
  for (const auto& [name, metric] : metrics_) spec.fetches.push_back(metric.value);
  std::map<std::string, Tensor> values;
  if (spec.fetches.empty()) return values;
  const StepFeeds nothing;
  const std::vector<StepResult> results =
      backend_.Compile(spec, {.threads = threads_}, variables_)->Run({&nothing, 1});
  size_t next = 0;
  for (const auto& [name, metric] : metrics_) {
    values[name] = results.front().fetches[next++].front();
  }
  return values;
}

}  // namespace tpuest
