#include "core/estimator/step/metric_runner.h"

#include "core/estimator/checkpoint/variables.h"
#include "core/estimator/contract/call_named.h"

namespace tpuest {
void CheckMetricNames(const std::map<std::string, MetricOps>& metrics) {
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
  std::vector<std::string> names = NamesOf(metrics.tensors);
  const auto found = built_.find(names);
  if (found != built_.end()) return found->second;
  Built built{.on = MakeOutfedGraph(registry_, metrics.tensors)};
  const AfterScope after(*built.on.graph);
  built.metrics = CallNamed("eval_metrics", log_,
                            [&] { return metrics.fn(*built.on.graph, built.on.placeholders); });
  CheckMetricNames(built.metrics);
  InitializeMissing(*built.on.graph);
  return built_.emplace(std::move(names), std::move(built)).first->second;
}

Program& MetricRunner::UpdateFor(Built& built, std::span<const Tensor> tensors) {
  std::unique_ptr<Program>& update = built.updates[RowsOf(tensors)];
  if (update != nullptr) return *update;
  ProgramSpec spec{.graph = built.on.graph.get(), .feeds = FeedSpecsOf(built.on, tensors, true)};
  for (const auto& [name, metric] : built.metrics) {
    if (metric.update != nullptr) spec.targets.push_back(metric.update);
  }
  update = backend_.Compile(spec, {.threads = threads_}, variables_);
  return *update;
}

void MetricRunner::Update(const EvalMetrics& metrics, std::span<const Tensor> tensors) {
  has_rows_ = true;
  Program& update = UpdateFor(BuiltFor(metrics), tensors);
  const StepFeeds feeds = FeedsOf(tensors);
  (void)update.Run({&feeds, 1});
}

MetricValues::MetricValues(Backend& backend, const Graph& graph,
                           const std::map<std::string, MetricOps>& metrics, int threads,
                           VariableStore& variables)
    : metrics_(metrics) {
  ProgramSpec spec{.graph = &graph};
  for (const auto& [name, metric] : metrics) spec.fetches.push_back(metric.value);
  program_ = backend.Compile(spec, {.threads = threads}, variables);
}

std::map<std::string, Tensor> MetricValues::Read() {
  const StepFeeds nothing;
  const std::vector<StepResult> results = program_->Run({&nothing, 1});
  std::map<std::string, Tensor> values;
  size_t next = 0;
  for (const auto& [name, metric] : metrics_) {
    values[name] = results.front().fetches[next++].front();
  }
  return values;
}

std::map<std::string, Tensor> MetricRunner::Values() {
  if (!has_rows_) return {};
  Built& built = built_.begin()->second;
  if (built.metrics.empty()) return {};
  if (built.values == nullptr) {
    built.values = std::make_unique<MetricValues>(backend_, *built.on.graph, built.metrics,
                                                  threads_, variables_);
  }
  return built.values->Read();
}

}  // namespace tpuest
