// Softmax and the cross entropies. Named values are TensorFlow's.

#include <numeric>

#include "core/ops/array.h"
#include "core/ops/softmax.h"
#include "tests/core/ops/op_cases.h"

namespace tpuest {
namespace {

using In = std::vector<Value>;

// The exponents of the last row would overflow without subtracting the maximum.
Tensor Logits() { return Floats({3, 3}, {1, 2, 0.5F, 0, -1, 3, 1000, 1001, -1000}); }

OpCase Row(std::string op, std::string claim, std::vector<Tensor> inputs, BuildFn build,
           std::vector<int> batch) {
  return {.op = std::move(op),
          .claim = std::move(claim),
          .inputs = std::move(inputs),
          .build = std::move(build),
          .batch = std::move(batch)};
}

OpCase Known(OpCase op_case, std::vector<Tensor> expected) {
  op_case.expected = std::move(expected);
  op_case.tolerance = 3e-7;
  op_case.numeric_gradient = false;
  op_case.in_bfloat16 = false;  // bfloat16 cannot represent 1001
  return op_case;
}

Built BuildSoftmax(Graph& /*graph*/, const In& in) { return {{ops::Softmax(in[0])}, {}}; }
Built BuildLogSoftmax(Graph& /*graph*/, const In& in) { return {{ops::LogSoftmax(in[0])}, {}}; }

Built BuildSparse(Graph& /*graph*/, const In& in) {
  return {{ops::SparseSoftmaxCrossEntropyWithLogits(in[0], in[1])}, {}};
}

Built BuildDense(Graph& /*graph*/, const In& in) {
  return {{ops::SoftmaxCrossEntropyWithLogits(in[0], in[1])}, {}};
}

// Adds the second output, the gradient of each row, which cannot be differentiated again.
BuildFn WithBackprop(Built (*build)(Graph&, const In&)) {
  return [build](Graph& graph, const In& in) {
    Built built = build(graph, in);
    built.results.push_back(ops::StopGradient(built.results[0].node->output(1)));
    return built;
  };
}

std::vector<OpCase> SoftmaxRows() {
  return {
      Known(Row("Softmax", "of large numbers", {Logits()}, BuildSoftmax, {}),
            {Floats({3, 3}, {0.231223911F, 0.628531694F, 0.14024438F, 0.0466126204F, 0.0171478242F,
                             0.936239541F, 0.268941432F, 0.731058538F, 0})}),
      Known(Row("LogSoftmax", "of large numbers", {Logits()}, BuildLogSoftmax, {}),
            {Floats({3, 3}, {-1.46436882F, -0.46436879F, -1.96436882F, -3.06588387F, -4.06588411F,
                             -0.0658839121F, -1.31326163F, -0.313261658F, -2001.31323F})}),
      Row("Softmax", "", {Wave({4, 37}, 2)}, BuildSoftmax, {0}),
      Row("Softmax", "over the last of three axes", {Wave({3, 2, 5}, 2)}, BuildSoftmax, {0}),
      Row("Softmax", "of a vector", {Wave({9}, 2)}, BuildSoftmax, {0}),
      Row("LogSoftmax", "", {Wave({4, 37}, 2)}, BuildLogSoftmax, {0}),
      Row("LogSoftmax", "over the last of three axes", {Wave({3, 2, 5}, 2)}, BuildLogSoftmax, {0}),
  };
}

std::vector<OpCase> SparseRows() {
  const char* const op = "SparseSoftmaxCrossEntropyWithLogits";
  return {
      Known(Row(op, "and its gradient", {Logits(), Ints({3}, {1, 0, 2})}, WithBackprop(BuildSparse),
                {}),
            {Floats({3}, {0.46436879F, 3.06588387F, 2001.31323F}),
             Floats({3, 3}, {0.231223896F, -0.371468306F, 0.14024438F, -0.95338738F, 0.017147826F,
                             0.936239541F, 0.268941432F, 0.731058598F, -1})}),
      Row(op, "", {Wave({4, 7}, 2), Ints({4}, {6, 0, 3, 3})}, BuildSparse, {0, 1}),
      Row(op, "by 64-bit labels", {Wave({4, 7}, 2), Longs({4}, {6, 0, 3, 3})}, BuildSparse, {0, 1}),
  };
}

// Rows of numbers between 0 and 1 that sum to 1.
Tensor Distributions(int64_t rows, int64_t classes) {
  Tensor labels = Wave({rows, classes}, 0.2F, 0.3F);
  float* row = labels.data<float>();
  for (int64_t r = 0; r < rows; ++r, row += classes) {
    const float sum = std::accumulate(row, row + classes, 0.0F);
    for (int64_t c = 0; c < classes; ++c) row[c] /= sum;
  }
  return labels;
}

std::vector<OpCase> DenseRows() {
  const char* const op = "SoftmaxCrossEntropyWithLogits";
  const Tensor labels = Floats({3, 3}, {0.1F, 0.7F, 0.2F, 0, 1, 0, 0.5F, 0, 0.5F});
  const Tensor one_row = Floats({1, 3}, {0.1F, 0.7F, 0.2F});
  return {
      Known(Row(op, "and its gradient", {Logits(), labels}, WithBackprop(BuildDense), {}),
            {Floats({3}, {0.864368796F, 4.06588411F, 1001.31323F}),
             Floats({3, 3}, {0.131223887F, -0.0714682937F, -0.0597556233F, 0.0466126241F,
                             -0.982852161F, 0.936239541F, -0.231058568F, 0.731058598F, -0.5F})}),
      Known(Row(op, "with one row of labels for all", {Logits(), one_row}, WithBackprop(BuildDense),
                {}),
            {Floats({3}, {0.864368796F, 3.16588402F, 400.613281F}),
             Floats({3, 3}, {0.131223887F, -0.0714682937F, -0.0597556233F, -0.0533873774F,
                             -0.682852149F, 0.736239552F, 0.168941438F, 0.0310586095F, -0.2F})}),
      Known(Row(op, "whose labels sum to 2",
                {Floats({1, 3}, {1, 2, 3}), Floats({1, 3}, {0.5F, 1, 0.5F})},
                WithBackprop(BuildDense), {}),
            {Floats({1}, {2.8152118F}), Floats({1, 3}, {-0.40996942F, -0.75527155F, 0.16524094F})}),
      Row(op, "", {Wave({4, 7}, 2), Distributions(4, 7)}, BuildDense, {0, 1}),
      Row(op, "of labels alike", {Wave({4, 7}, 2), Distributions(1, 7)}, BuildDense, {0}),
      Row(op, "of logits alike", {Wave({1, 7}, 2), Distributions(4, 7)}, BuildDense, {1}),
  };
}

}  // namespace

std::vector<OpCase> SoftmaxCases() {
  std::vector<OpCase> all = SoftmaxRows();
  for (const auto cases : {SparseRows, DenseRows}) {
    for (OpCase& op_case : cases()) all.push_back(std::move(op_case));
  }
  return all;
}

}  // namespace tpuest
