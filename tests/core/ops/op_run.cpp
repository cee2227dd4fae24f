#include "tests/core/ops/op_run.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>

#include "core/backend/cpu/program.h"
#include "tests/core/ops/op_checks.h"

namespace tpuest {

CaseGraph::CaseGraph(const OpCase& op_case, const std::vector<Tensor>& tensors, bool unknown_rows)
    : graph(TestRegistry()) {
  for (size_t i = 0; i < tensors.size(); ++i) {
    Shape shape = tensors[i].shape();
    const bool is_batch = std::count(op_case.batch.begin(), op_case.batch.end(), i) > 0;
    if (unknown_rows && is_batch) shape.set_dim(0, kUnknownDim);
    inputs.push_back(graph.Placeholder(tensors[i].dtype(), shape, "input_" + std::to_string(i)));
  }
  built = op_case.build(graph, inputs);
}

CaseProgram::CaseProgram(const OpCase& op_case, CaseGraph& graph, std::vector<Value> fetches,
                         const std::vector<Tensor>& inputs, const RunHow& how) {
  for (const auto& [name, value] : op_case.variables) {
    const Variable* const variable = graph.graph.FindVariable(name);
    REQUIRE(variable != nullptr);
    variables_.Set(name, value.Cast(variable->dtype));
  }
  ProgramSpec spec{.graph = &graph.graph, .fetches = std::move(fetches)};
  for (size_t i = 0; i < inputs.size(); ++i) {
    const bool is_batch = std::count(op_case.batch.begin(), op_case.batch.end(), i) > 0;
    spec.feeds.push_back({graph.inputs[i], inputs[i].shape(), how.cut_batch && is_batch});
  }
  spec.targets = graph.built.targets;
  const CompileOptions options{.seed = how.seed, .fuse = how.fuse, .cut_rows = how.cut_rows};
  program_ = MakeCpuBackend()->Compile(spec, options, variables_);
}

CaseRun CaseProgram::Run(const std::vector<Tensor>& inputs) {
  StepFeeds feeds;
  for (const Tensor& input : inputs) feeds.push_back({input});
  const std::vector<StepResult> steps = program_->Run({&feeds, 1});
  REQUIRE(steps.size() == 1);
  CaseRun run;
  for (const std::vector<Tensor>& fetch : steps[0].fetches) run.results.push_back(fetch.at(0));
  for (const auto& [name, value] : variables_.tensors()) run.variables[name] = value.Clone();
  return run;
}

std::vector<Tensor> InputsAs(const OpCase& op_case, DType dtype) {
  std::vector<Tensor> inputs;
  for (const Tensor& input : op_case.inputs) {
    inputs.push_back(IsFloating(input.dtype()) ? input.Cast(dtype) : input);
  }
  return inputs;
}

CaseRun RunCase(const OpCase& op_case, const std::vector<Tensor>& inputs) {
  CaseGraph graph(op_case, inputs);
  CaseProgram program(op_case, graph, graph.built.results, inputs);
  return program.Run(inputs);
}

namespace {

void CheckNumbers(const Tensor& found, const Tensor& expected, double tolerance) {
  double largest = 0;
  for (int64_t i = 0; i < expected.elements(); ++i) {
    const double value = std::abs(expected.AsDouble(i));
    if (std::isfinite(value)) largest = std::max(largest, value);
  }
  for (int64_t i = 0; i < expected.elements(); ++i) {
    const double a = found.AsDouble(i);
    const double b = expected.AsDouble(i);
    const bool same = a == b || (std::isnan(a) && std::isnan(b));
    INFO("element ", i, ": found ", a, ", expected ", b);
    CHECK((same || std::abs(a - b) <= tolerance * largest));
  }
}

}  // namespace

void CheckClose(const Tensor& found, const Tensor& expected, double tolerance) {
  REQUIRE(found.dtype() == expected.dtype());
  REQUIRE(found.shape().Text() == expected.shape().Text());
  if (tolerance == 0 || !IsFloating(found.dtype())) {
    const bool same = SameBits(found, expected);
    if (!same && found.dtype() != DType::kString) CheckNumbers(found, expected, 0);
    CHECK(same);
  } else {
    CheckNumbers(found, expected, tolerance);
  }
}

}  // namespace tpuest
