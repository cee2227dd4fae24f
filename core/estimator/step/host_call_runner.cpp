#include "core/estimator/step/host_call_runner.h"

#include "core/estimator/checkpoint/variables.h"
#include "core/estimator/contract/call_named.h"

namespace tpuest {
namespace {

void CheckScalars(const HostCallOps& ops) {
  for (const auto& [tag, value] : ops.scalars) {
    if (value.shape() == Shape()) continue;
    throw Error(Code::kUsage, fmt::format("host_call: the summary '{}' is {}, expected a scalar",
                                          tag, value.shape().Text()))
        .At(value.node->origin());
  }
  const bool is_step =
      !ops.step.valid() || (ops.step.shape() == Shape() && ops.step.dtype() == DType::kInt64);
  if (!is_step) {
    throw Error(Code::kUsage, fmt::format("host_call: the step is {} {}, expected int64 []",
                                          NameOf(ops.step.dtype()), ops.step.shape().Text()));
  }
}

}  // namespace

HostCallRunner::Built& HostCallRunner::BuiltFor(const HostCall& call) {
  std::vector<std::string> names = NamesOf(call.tensors);
  const auto found = built_.find(names);
  if (found != built_.end()) return found->second;
  Built built{.on = MakeOutfedGraph(registry_, call.tensors)};
  Graph& graph = *built.on.graph;
  const AfterScope after(graph);
  built.ops = CallNamed("host_call", log_, [&] { return call.fn(graph, built.on.placeholders); });
  CheckScalars(built.ops);
  VariableStore initial;
  InitializeVariables(backend_, graph, Which::kAll, 0, initial);
  for (const auto& [name, value] : initial.tensors()) {
    if (!variables_.Has(name)) variables_.Set(name, value);
  }
  return built_.emplace(std::move(names), std::move(built)).first->second;
}

Program& HostCallRunner::ProgramFor(Built& built, std::span<const Tensor> tensors) {
  std::unique_ptr<Program>& program = built.programs[RowsOf(tensors)];
  if (program != nullptr) return *program;
  // Tensors differ in rows: of examples, and of one number a replica.
  ProgramSpec spec{.graph = built.on.graph.get(),
                   .feeds = FeedSpecsOf(built.on, tensors, false),
                   .targets = built.ops.targets};
  for (const auto& [tag, value] : built.ops.scalars) spec.fetches.push_back(value);
  if (built.ops.step.valid()) spec.fetches.push_back(built.ops.step);
  program = backend_.Compile(spec, {.threads = threads_}, variables_);
  return *program;
}

void HostCallRunner::Run(const HostCall& call, std::span<const Tensor> tensors,
                         int64_t global_step) {
  if (call.tensors.empty()) return;
  Built& built = BuiltFor(call);
  const StepFeeds feeds = FeedsOf(tensors);
  const std::vector<StepResult> results = ProgramFor(built, tensors).Run({&feeds, 1});
  const auto& fetches = results.front().fetches;
  std::vector<SummaryValue> values;
  for (const auto& [tag, value] : built.ops.scalars) {
    const Tensor& scalar = fetches[values.size()].front();
    values.push_back({.tag = tag, .value = static_cast<float>(scalar.AsDouble(0))});
  }
  const int64_t step =
      built.ops.step.valid() ? *fetches.back().front().data<int64_t>() : global_step;
  if (!values.empty()) sink_(step, values);
}

void CheckOutfedTensors(const std::map<std::string, Value>& tensors) {
  for (const auto& [name, value] : tensors) {
    if (value.shape().rank() > 0) continue;
    throw Error(Code::kUsage,
                fmt::format("All tensors outfed from TPU should preserve batch size dimension, but "
                            "got scalar '{}'",
                            value.name()),
                "a reshape to [1] gives each replica's value a row")
        .At(value.node->origin());
  }
}

}  // namespace tpuest
