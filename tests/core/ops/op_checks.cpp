#include "tests/core/ops/op_checks.h"

#include <doctest/doctest.h>

#include <cmath>

#include "core/graph/gradient.h"
#include "core/graph/write/graphdef.h"
#include "core/kernels/isa/cpu_isa.h"
#include "core/kernels/strided_copy.h"
#include "core/ops/all_ops.h"
#include "core/ops/elementwise.h"
#include "core/ops/windows.h"
#include "tests/core/ops/op_run.h"

namespace tpuest {

const OpRegistry& TestRegistry() {
  static const OpRegistry registry(ops::AllOps());
  return registry;
}

void CheckShapes(const OpCase& op_case) {
  CaseGraph graph(op_case, op_case.inputs);
  CaseProgram program(op_case, graph, graph.built.results, op_case.inputs);
  const CaseRun run = program.Run(op_case.inputs);
  for (size_t i = 0; i < run.results.size(); ++i) {
    const Shape& inferred = graph.built.results[i].shape();
    // Sizes that depend on data are known when the op is bound.
    const bool is_bound = TestRegistry().Find(op_case.op)->def->bind != nullptr;
    if (is_bound && !inferred.fully_known()) {
      CHECK(Compatible(inferred, run.results[i].shape()));
    } else {
      CHECK(inferred.Text() == run.results[i].shape().Text());
    }
    CHECK(graph.built.results[i].dtype() == run.results[i].dtype());
  }
}

void CheckExpected(const OpCase& op_case) {
  if (op_case.expected.empty() && op_case.updated.empty()) return;
  const CaseRun run = RunCase(op_case, op_case.inputs);
  if (!op_case.expected.empty()) {
    REQUIRE(run.results.size() == op_case.expected.size());
    for (size_t i = 0; i < run.results.size(); ++i) {
      INFO("result ", i);
      CheckClose(run.results[i], op_case.expected[i], op_case.tolerance);
    }
  }
  for (const auto& updated : op_case.updated) {
    INFO("variable ", updated.first);
    CheckClose(run.variables.at(updated.first), updated.second, op_case.tolerance);
  }
}

namespace {

// Different weights for the elements of a result, so that errors do not cancel.
Tensor WeightsOf(const Value& result) {
  return Wave(result.shape(), 0.7F, 0.4F).Cast(result.dtype());
}

double WeightedSum(const std::vector<Tensor>& results, const std::vector<Tensor>& weights) {
  double sum = 0;
  for (size_t i = 0; i < results.size(); ++i) {
    if (!IsFloating(results[i].dtype())) continue;
    for (int64_t k = 0; k < results[i].elements(); ++k) {
      sum += results[i].AsDouble(k) * weights[i].AsDouble(k);
    }
  }
  return sum;
}

// The floating inputs of a graph.
std::vector<size_t> Differentiable(const CaseGraph& graph) {
  std::vector<size_t> chosen;
  for (size_t i = 0; i < graph.inputs.size(); ++i) {
    if (IsFloating(graph.inputs[i].dtype())) chosen.push_back(i);
  }
  return chosen;
}

// Propagates dy of each floating result to the chosen inputs; returns the existing gradients with
// their inputs.
struct InputGradient {
  size_t input;
  Value gradient;
};
std::vector<InputGradient> GradientsOf(CaseGraph& graph, const std::vector<Value>& dys) {
  const std::vector<size_t> chosen = Differentiable(graph);
  std::vector<Value> xs;
  for (const size_t i : chosen) xs.push_back(graph.inputs[i]);
  std::vector<InputGradient> found;
  for (size_t r = 0; r < graph.built.results.size(); ++r) {
    const Value y = graph.built.results[r];
    if (!IsFloating(y.dtype()) || xs.empty()) continue;
    const std::vector<Gradient> gradients = Gradients(y, xs, dys[r]);
    for (size_t i = 0; i < xs.size(); ++i) {
      if (std::holds_alternative<std::monostate>(gradients[i])) continue;
      found.push_back({chosen[i], ToDense(gradients[i])});
    }
  }
  return found;
}

// d(sum of weights times results)/d(element k of input i), by central differences.
double Slope(CaseProgram& program, const std::vector<Tensor>& weights,
             const std::vector<Tensor>& inputs, size_t i, int64_t k) {
  constexpr double kStep = 1e-5;
  double values[2];
  for (int side = 0; side < 2; ++side) {
    std::vector<Tensor> moved = inputs;
    moved[i] = inputs[i].Clone();
    moved[i].data<double>()[k] += side == 0 ? -kStep : kStep;
    values[side] = WeightedSum(program.Run(moved).results, weights);
  }
  return (values[1] - values[0]) / (2 * kStep);
}

GradFn GradOf(const OpCase& op_case) { return TestRegistry().Find(op_case.op)->def->grad; }
bool IsConstant(const OpCase& op_case) { return GradOf(op_case) == NoGradient; }
// True for a gradient op that cannot be differentiated again.
bool IsRefused(const OpCase& op_case) { return GradOf(op_case) == ops::NoSecondGradient; }

}  // namespace

void CheckNumericGradient(const OpCase& op_case) {
  if (!op_case.in_double || !op_case.numeric_gradient) return;
  const std::vector<Tensor> inputs = InputsAs(op_case, DType::kDouble);
  CaseGraph graph(op_case, inputs);
  std::vector<Value> dys;
  std::vector<Tensor> weights;
  for (const Value& result : graph.built.results) {
    if (IsFloating(result.dtype())) {
      weights.push_back(WeightsOf(result));
      dys.push_back(graph.graph.Constant(weights.back()));
    } else {
      weights.emplace_back();
      dys.emplace_back();
    }
  }
  if (IsRefused(op_case)) {
    CHECK_THROWS_AS(GradientsOf(graph, dys), Error);
    return;
  }
  CaseProgram slopes(op_case, graph, graph.built.results, inputs);
  const std::vector<InputGradient> gradients = GradientsOf(graph, dys);
  if (IsConstant(op_case)) {
    CHECK(gradients.empty());
    return;
  }
  std::vector<Value> fetches;
  for (const InputGradient& gradient : gradients) fetches.push_back(gradient.gradient);
  CaseProgram program(op_case, graph, fetches, inputs);
  const std::vector<Tensor> results = program.Run(inputs).results;
  for (const size_t i : Differentiable(graph)) {
    for (int64_t k = 0; k < inputs[i].elements(); ++k) {
      double found = 0;
      for (size_t g = 0; g < gradients.size(); ++g) {
        if (gradients[g].input == i) found += results[g].AsDouble(k);
      }
      const double slope = Slope(slopes, weights, inputs, i, k);
      INFO("input ", i, " element ", k, ": gradient ", found, ", slope ", slope);
      CHECK(std::abs(found - slope) <= 1e-6 * std::max(1.0, std::abs(slope)));
    }
  }
  for (size_t g = 0; g < gradients.size(); ++g) {
    CHECK(results[g].shape().Text() == inputs[gradients[g].input].shape().Text());
  }
}

void CheckDTypes(const OpCase& op_case) {
  bool floating = false;
  for (const Tensor& input : op_case.inputs) floating |= IsFloating(input.dtype());
  if (!floating) return;
  const auto compare = [&](const std::vector<Tensor>& wide, const std::vector<Tensor>& narrow,
                           double tolerance) {
    const std::vector<Tensor> a = RunCase(op_case, wide).results;
    const std::vector<Tensor> b = RunCase(op_case, narrow).results;
    REQUIRE(a.size() == b.size());
    for (size_t i = 0; i < a.size(); ++i) CheckClose(b[i].Cast(a[i].dtype()), a[i], tolerance);
  };
  if (op_case.in_double) {
    compare(InputsAs(op_case, DType::kDouble), op_case.inputs, 1e-5);
  }
  if (op_case.in_bfloat16) {
    OpCase rounded = op_case;
    rounded.inputs = InputsAs(op_case, DType::kBfloat16);
    try {
      compare(InputsAs(rounded, DType::kFloat), rounded.inputs, 0.02);
    } catch (const Error& error) {  // products of bfloat16, which the processor lacks
      const bool is_refused = error.message().starts_with("bfloat16 needs a processor");
      if (ChosenCpuIsa().bfloat16 || !is_refused) throw;
    }
  }
}

void CheckGraphDef(const OpCase& op_case) {
  if (op_case.op.starts_with('_')) return;  // no file contains it
  CaseGraph graph(op_case, op_case.inputs);
  const std::string bytes = ToGraphDef(graph.graph);
  Graph again(TestRegistry());
  FromGraphDef(bytes, again);
  REQUIRE(again.nodes().size() == graph.graph.nodes().size());
  for (size_t i = 0; i < again.nodes().size(); ++i) {
    const Node& a = *graph.graph.nodes()[i];
    const Node* const b = again.FindNode(a.name());
    INFO("node ", a.name());
    REQUIRE(b != nullptr);
    CHECK(a.type() == b->type());
    REQUIRE(a.inputs().size() == b->inputs().size());
    for (size_t k = 0; k < a.inputs().size(); ++k) {
      CHECK(a.inputs()[k].name() == b->inputs()[k].name());
    }
    REQUIRE(a.attrs().size() == b->attrs().size());
    for (const auto& attr : a.attrs()) {
      INFO("attribute ", attr.first);
      CHECK((b->HasAttr(attr.first) && SameAttr(attr.second, b->attrs().at(attr.first))));
    }
    for (int k = 0; k < a.outputs(); ++k) {
      CHECK(a.output_shape(k).Text() == b->output_shape(k).Text());
    }
  }
  CHECK(ToGraphDef(again) == bytes);
}

namespace {

constexpr int64_t kBatchRows = 100;

// The row's inputs with batch inputs repeated to 100 rows; numbers differ slightly from row to row.
std::vector<Tensor> BatchInputs(const OpCase& op_case) {
  std::vector<Tensor> inputs = op_case.inputs;
  for (const int i : op_case.batch) {
    const Tensor& in = op_case.inputs[static_cast<size_t>(i)];
    Shape shape = in.shape();
    const int64_t rows = shape.dim(0);
    shape.set_dim(0, kBatchRows);
    Tensor out(in.dtype(), shape);
    const auto bytes = in.elements() / rows * static_cast<int64_t>(ElementBytes(in.dtype()));
    for (int64_t r = 0; r < kBatchRows; ++r) {
      std::memcpy(static_cast<char*>(out.raw()) + r * bytes,
                  static_cast<const char*>(in.raw()) + r % rows * bytes,
                  static_cast<size_t>(bytes));
    }
    if (in.dtype() == DType::kFloat) {
      const Tensor wave = Wave(shape, 1e-2F);
      for (int64_t k = 0; k < out.elements(); ++k) {
        out.data<float>()[k] *= 1 + wave.data<float>()[k];
      }
    }
    inputs[static_cast<size_t>(i)] = out;
  }
  return inputs;
}

// dy = y^2 / 2 + 1, computed in the graph so that it has y's rows. (A linear function would not do,
// because batch normalisation has no gradient for it.)
std::vector<Value> DysInGraph(const Built& built) {
  std::vector<Value> dys;
  for (const Value& y : built.results) {
    dys.push_back(IsFloating(y.dtype()) ? ops::AddV2(ops::Mul(ops::Mul(y, y), 0.5), 1.0) : Value());
  }
  return dys;
}

// Results, then gradients.
std::vector<Value> AllFetches(const OpCase& op_case, CaseGraph& graph) {
  std::vector<Value> fetches = graph.built.results;
  if (IsRefused(op_case)) return fetches;
  for (const InputGradient& found : GradientsOf(graph, DysInGraph(graph.built))) {
    fetches.push_back(found.gradient);
  }
  return fetches;
}

void CompareRuns(const OpCase& op_case, const std::vector<Tensor>& inputs, const RunHow& how,
                 const RunHow& reference, double result_tolerance, double gradient_tolerance) {
  CaseGraph graph(op_case, inputs, how.cut_batch);
  const std::vector<Value> fetches = AllFetches(op_case, graph);
  CaseProgram one(op_case, graph, fetches, inputs, reference);
  CaseProgram other(op_case, graph, fetches, inputs, how);
  const std::vector<Tensor> expected = one.Run(inputs).results;
  const std::vector<Tensor> found = other.Run(inputs).results;
  for (size_t i = 0; i < expected.size(); ++i) {
    const bool is_result = i < graph.built.results.size();
    INFO(std::string(is_result ? "result " : "gradient "), i);
    CHECK(Compatible(fetches[i].shape(), found[i].shape()));
    CheckClose(found[i], expected[i], is_result ? result_tolerance : gradient_tolerance);
  }
}

}  // namespace

void CheckRows(const OpCase& op_case) {
  if (op_case.batch.empty()) return;
  const RunHow cut{.cut_batch = true};
  const RunHow whole{.cut_batch = true, .cut_rows = false};
  OpCase in_float = op_case;
  in_float.inputs = BatchInputs(op_case);
  // In float, thousands of numbers are added in another order; in double this hides no error.
  CompareRuns(op_case, in_float.inputs, cut, whole,
              op_case.sums_rows ? 1e-5 : op_case.rows_tolerance, 1e-5);
  if (!op_case.in_double) return;
  CompareRuns(op_case, InputsAs(in_float, DType::kDouble), cut, whole,
              op_case.sums_rows ? 1e-12 : 0, 1e-12);
}

void CheckFusion(const OpCase& op_case) {
  // Sums over rows may be computed in another order; in a channel with little variance the last bit
  // of a mean matters this much.
  const double tolerance = op_case.sums_rows ? 3e-5 : 1e-6;
  CompareRuns(op_case, op_case.inputs, {}, {.fuse = false}, tolerance, tolerance);
}

}  // namespace tpuest
