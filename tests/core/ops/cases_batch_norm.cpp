// Batch normalisation in training, mixed with moving statistics, and with given statistics. The
// numbers are TensorFlow's.

#include "core/ops/array.h"
#include "core/ops/batch_norm.h"
#include "core/ops/elementwise.h"
#include "tests/core/ops/op_cases.h"

namespace tpuest {
namespace {

using In = std::vector<Value>;

constexpr float kEpsilon = 0.001F;

// Scale and statistics of a bfloat16 image are float.
Value Wide(Value x) { return x.dtype() == DType::kBfloat16 ? ops::Cast(x, DType::kFloat) : x; }

// in: x, scale, offset, mean, variance.
Node* Normalise(const In& in, const ops::BatchNormOptions& options) {
  return ops::FusedBatchNormV3(in[0], Wide(in[1]), Wide(in[2]), Wide(in[3]), Wide(in[4]), options)
      .y.node;
}

// x [2, 2, 1, 2] and two channels' scale, offset, mean and variance.
std::vector<Tensor> Known() {
  return {Floats({2, 2, 1, 2}, {1, -2, 3, 0, 5, 4, -1, 2}), Floats({2}, {2, 0.5F}),
          Floats({2}, {1, -1}), Floats({2}, {1, 2}), Floats({2}, {4, 9})};
}

OpCase Row(std::string claim, std::vector<Tensor> inputs, const ops::BatchNormOptions& options,
           int results) {
  return {.op = "FusedBatchNormV3",
          .claim = std::move(claim),
          .inputs = std::move(inputs),
          .build =
              [options, results](Graph&, const In& in) {
                Node* const node = Normalise(in, options);
                Built built;
                for (int i = 0; i < results; ++i) built.results.push_back(node->output(i));
                return built;
              },
          .batch = {0},
          .sums_rows = options.is_training};
}

// Results: y, batch mean and variance, and the outputs that the gradient reads. Only y has a
// gradient.
OpCase KnownRow(std::string claim, const ops::BatchNormOptions& options,
                std::vector<Tensor> expected) {
  OpCase op_case = Row(std::move(claim), Known(), options, static_cast<int>(expected.size()));
  op_case.expected = std::move(expected);
  op_case.tolerance = 3e-7;
  op_case.numeric_gradient = false;
  return op_case;
}

Tensor Two(float a, float b) { return Floats({2}, {a, b}); }

// y of an image that is given with its channels first, with the channels last again.
OpCase ChannelsFirst(std::string claim, bool training, const Tensor& expected) {
  return {.op = "FusedBatchNormV3",
          .claim = std::move(claim),
          .inputs = Known(),
          .build =
              [training](Graph& graph, const In& in) {
                const Value y = graph.Add("FusedBatchNormV3",
                                          {ops::Transpose(in[0], {0, 3, 1, 2}), Wide(in[1]),
                                           Wide(in[2]), Wide(in[3]), Wide(in[4])},
                                          {{"epsilon", kEpsilon},
                                           {"is_training", training},
                                           {"data_format", std::string("NCHW")}});
                return Built{{ops::Transpose(y, {0, 2, 3, 1})}, {}};
              },
          .expected = {expected},
          .batch = {0},
          .sums_rows = training,
          .numeric_gradient = training};
}

std::vector<OpCase> KnownRows() {
  const ops::BatchNormOptions by_batch{.epsilon = kEpsilon};
  const ops::BatchNormOptions mixed{.epsilon = kEpsilon, .exponential_avg_factor = 0.25F};
  const ops::BatchNormOptions given{.epsilon = kEpsilon, .is_training = false};
  const Tensor y = Floats({2, 2, 1, 2}, {0.105662286F, -1.67075324F, 1.89433765F, -1.22358441F,
                                         3.6830132F, -0.3292467F, -1.6830132F, -0.776415586F});
  const Tensor by_given = Floats({2, 2, 1, 2}, {1, -1.66662955F, 2.99975014F, -1.33331478F,
                                                4.99950027F, -0.666685224F, -0.999750137F, -1});
  return {
      KnownRow("in training", by_batch,
               {y, Two(2, 1), Two(6.66666698F, 6.66666698F), Two(2, 1), Two(5, 5)}),
      KnownRow("mixes moving statistics", mixed,
               {y, Two(1.25F, 1.75F), Two(4.66666698F, 8.41666698F), Two(2, 1), Two(5, 5)}),
      KnownRow("by given statistics", given,
               {by_given, Two(1, 2), Two(4, 9), Two(1, 2), Two(4, 9)}),
      ChannelsFirst("with the channels first, in training", true, y),
      ChannelsFirst("with the channels first, by given statistics", false, by_given),
  };
}

std::vector<OpCase> SmoothRows() {
  const std::vector<Tensor> inputs = {Wave({3, 2, 3, 5}, 2, 1), Wave({5}, 0.5F, 1), Wave({5}),
                                      Wave({5}, 0.3F), Wave({5}, 0.2F, 1)};
  const std::vector<Tensor> many = {Wave({3, 2, 1, 37}, 2, 1), Wave({37}, 0.5F, 1), Wave({37}),
                                    Wave({37}, 0.3F), Wave({37}, 0.2F, 1)};
  return {Row("in training, y alone", inputs, {.epsilon = kEpsilon}, 1),
          Row("in training, many channels", many, {.epsilon = kEpsilon}, 1)};
}

// in: x, scale, offset, mean, variance, dy. The op reads what the forward op reserved for it, or
// the given statistics.
Built BuildGrad(Graph& graph, const In& in, bool is_training) {
  Node* const node = Normalise(in, {.epsilon = kEpsilon, .is_training = is_training});
  Node* const grad =
      graph.AddNode("FusedBatchNormGradV3",
                    {in[5], in[0], Wide(in[1]), node->output(3), node->output(4), node->output(5)},
                    {{"epsilon", kEpsilon}, {"is_training", is_training}});
  return {{grad->output(0), grad->output(1), grad->output(2)}, {}};
}

OpCase GradRow(std::string claim, std::vector<Tensor> inputs, bool is_training,
               std::vector<Tensor> expected) {
  return {.op = "FusedBatchNormGradV3",
          .claim = std::move(claim),
          .inputs = std::move(inputs),
          .build = [is_training](Graph& graph,
                                 const In& in) { return BuildGrad(graph, in, is_training); },
          .expected = std::move(expected),
          .batch = {0, 5},
          .sums_rows = true};
}

std::vector<OpCase> GradRows() {
  std::vector<Tensor> inputs = Known();
  inputs.push_back(Floats({2, 2, 1, 2}, {1, 2, 3, 4, -5, 6, 7, -8}));
  return {
      GradRow("in training", inputs, true,
              {Floats({2, 2, 1, 2}, {-1.96723878F, 0.223584428F, 2.86157656F, 0.6707533F,
                                     -1.25298548F, 1.11792219F, 0.358647794F, -2.01225996F}),
               Two(-15.2037411F, 0), Two(6, 4)}),
      GradRow("by given statistics", inputs, false,
              {Floats({2, 2, 1, 2}, {0.999875069F, 0.333314806F, 2.99962521F, 0.666629612F,
                                     -4.99937534F, 0.999944448F, 6.99912548F, -1.33325922F}),
               Two(-13.998251F, -1.33325922F), Two(6, 4)}),
  };
}

}  // namespace

std::vector<OpCase> BatchNormCases() {
  std::vector<OpCase> all = KnownRows();
  for (const auto rows : {SmoothRows, GradRows}) {
    for (OpCase& row : rows()) all.push_back(std::move(row));
  }
  return all;
}

}  // namespace tpuest
