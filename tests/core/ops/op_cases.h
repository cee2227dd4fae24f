#pragma once
// At least one row per op: a small graph around it, its inputs, and known facts about the results.
// The checks (op_checks.h) run on all rows: shapes, expected values, numeric gradients, GraphDef
// both ways, other dtypes, and a batch split into blocks.

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "core/graph/graph.h"
#include "core/tensor/tensor.h"

namespace tpuest {

// The results of a case's graph.
struct Built {
  std::vector<Value> results;
  std::vector<Node*> targets;  // nodes that are run for their writes
};

using BuildFn = std::function<Built(Graph& graph, const std::vector<Value>& inputs)>;

struct OpCase {
  std::string op;     // the registered op under test
  std::string claim;  // a sentence on what the case shows; may be empty
  // The tensors to feed to placeholders. Floating inputs are given as float; checks convert them.
  std::vector<Tensor> inputs;
  // Builds the graph with ops:: functions; must work for every floating dtype of the inputs.
  BuildFn build;
  // The values of the results, compared to `tolerance` (relative to the largest); empty: unknown.
  std::vector<Tensor> expected;
  double tolerance = 1e-6;
  // Values of variables by name, before the run and, as they must be, after it.
  std::map<std::string, Tensor> variables;
  std::map<std::string, Tensor> updated;
  // Inputs whose axis 0 is the batch: the case also runs with 100 rows, split and whole. Results
  // are equal to the bit, or with `sums_rows` or `rows_tolerance` except for rounding.
  std::vector<int> batch;
  bool sums_rows = false;
  double rows_tolerance = 0;  // of results in float that do not sum rows
  // False for a function with a jump or a kink near the inputs, or without double.
  bool numeric_gradient = true;
  bool in_double = true;
  bool in_bfloat16 = true;
};

// The name of a test: "FloorMod: has the divisor's sign".
[[nodiscard]] std::string NameOf(const OpCase& op_case);

// All cases; each family's rows are in a separate file.
[[nodiscard]] std::vector<OpCase> AllOpCases();

[[nodiscard]] std::vector<OpCase> UnaryCases();
[[nodiscard]] std::vector<OpCase> BinaryCases();
[[nodiscard]] std::vector<OpCase> ArrayCases();
[[nodiscard]] std::vector<OpCase> SliceCases();
[[nodiscard]] std::vector<OpCase> GatherCases();
[[nodiscard]] std::vector<OpCase> SparseCases();
[[nodiscard]] std::vector<OpCase> SequenceCases();
[[nodiscard]] std::vector<OpCase> ReductionCases();
[[nodiscard]] std::vector<OpCase> RandomCases();
[[nodiscard]] std::vector<OpCase> StateCases();
[[nodiscard]] std::vector<OpCase> TrainingCases();
[[nodiscard]] std::vector<OpCase> AdaptiveCases();
[[nodiscard]] std::vector<OpCase> StringCases();
[[nodiscard]] std::vector<OpCase> ParsingCases();
[[nodiscard]] std::vector<OpCase> TableCases();
[[nodiscard]] std::vector<OpCase> ActivationCases();
[[nodiscard]] std::vector<OpCase> SoftmaxCases();
[[nodiscard]] std::vector<OpCase> MatMulCases();
[[nodiscard]] std::vector<OpCase> ConvCases();
[[nodiscard]] std::vector<OpCase> PoolCases();
[[nodiscard]] std::vector<OpCase> BatchNormCases();
[[nodiscard]] std::vector<OpCase> ImageCases();

// Shorthand makes rows short.
[[nodiscard]] inline Tensor Floats(Shape shape, const std::vector<float>& values) {
  return Tensor::Of<float>(std::move(shape), values);
}
[[nodiscard]] inline Tensor Ints(Shape shape, const std::vector<int32_t>& values) {
  return Tensor::Of<int32_t>(std::move(shape), values);
}
[[nodiscard]] inline Tensor Longs(Shape shape, const std::vector<int64_t>& values) {
  return Tensor::Of<int64_t>(std::move(shape), values);
}
[[nodiscard]] Tensor Bools(Shape shape, const std::vector<int>& values);
// Values from -1 to 1 (times scale, plus offset) in an irregular order that is the same every time.
[[nodiscard]] Tensor Wave(Shape shape, float scale = 1, float offset = 0);

}  // namespace tpuest
