// Turning steps around, bands of matrices, splits, and sums of products by labels.

#include <map>

#include "core/ops/array.h"
#include "core/ops/matmul.h"
#include "tests/core/ops/op_cases.h"

namespace tpuest {
namespace {

using In = std::vector<Value>;

Tensor Count(const Shape& shape) {
  std::vector<float> values(static_cast<size_t>(shape.elements()));
  for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i + 1);
  return Floats(shape, values);
}

OpCase Reverse(std::string claim, const Shape& shape, std::vector<int64_t> axes,
               const std::vector<float>& expected, std::vector<int> batch) {
  return {.op = "ReverseV2",
          .claim = std::move(claim),
          .inputs = {Count(shape)},
          .build =
              [axes = std::move(axes)](Graph&, const In& in) {
                return Built{{ops::ReverseV2(in[0], axes)}, {}};
              },
          .expected = {Floats(shape, expected)},
          .batch = std::move(batch)};
}

OpCase ReverseSteps(std::string claim, const Tensor& x, const Tensor& lengths, int sequence,
                    int rows, const std::vector<float>& expected, std::vector<int> batch) {
  return {.op = "ReverseSequence",
          .claim = std::move(claim),
          .inputs = {x, lengths},
          .build =
              [sequence, rows](Graph&, const In& in) {
                return Built{{ops::ReverseSequence(in[0], in[1], sequence, rows)}, {}};
              },
          .expected = {Floats(x.shape(), expected)},
          .batch = std::move(batch)};
}

std::vector<OpCase> ReverseCases() {
  return {
      Reverse("turns the columns around", {2, 3}, {1}, {3, 2, 1, 6, 5, 4}, {0}),
      Reverse("turns several axes around, counted from the end", {2, 3}, {0, -1},
              {6, 5, 4, 3, 2, 1}, {}),
      Reverse("is x without axes", {2, 2}, {}, {1, 2, 3, 4}, {0}),
      ReverseSteps("turns the first steps of each row around", Count({2, 3, 2}), Ints({2}, {2, 3}),
                   1, 0, {3, 4, 1, 2, 5, 6, 11, 12, 9, 10, 7, 8}, {0, 1}),
      ReverseSteps("takes steps first, and leaves rows of no steps and of one", Count({3, 3}),
                   Longs({3}, {1, 3, 0}), 0, 1, {1, 8, 3, 4, 5, 6, 7, 2, 9}, {}),
      ReverseSteps("leaves axes between rows and steps where they are", Count({1, 2, 3}),
                   Longs({1}, {2}), -1, 0, {2, 1, 3, 5, 4, 6}, {}),
  };
}

OpCase Band(std::string claim, const Shape& shape, int64_t lower, int64_t upper,
            const std::vector<float>& expected, std::vector<int> batch) {
  return {.op = "MatrixBandPart",
          .claim = std::move(claim),
          .inputs = {Count(shape)},
          .build =
              [lower, upper](Graph&, const In& in) {
                return Built{{ops::MatrixBandPart(in[0], lower, upper)}, {}};
              },
          .expected = {Floats(shape, expected)},
          .batch = std::move(batch)};
}

std::vector<OpCase> BandCases() {
  return {
      Band("keeps the upper triangle", {3, 3}, 0, -1, {1, 2, 3, 0, 5, 6, 0, 0, 9}, {}),
      Band("keeps the diagonal and the one below it, of each matrix", {2, 2, 3}, 1, 0,
           {1, 0, 0, 4, 5, 0, 7, 0, 0, 10, 11, 0}, {0}),
      Band("keeps all for negative numbers", {1, 2}, -1, -2, {1, 2}, {}),
      Band("keeps what is near the diagonal of a tall matrix", {4, 2}, 1, 1,
           {1, 2, 3, 4, 0, 6, 0, 0}, {}),
  };
}

std::vector<OpCase> SplitCases() {
  return {
      {.op = "Split",
       .inputs = {Count({2, 4})},
       .build =
           [](Graph&, const In& in) {
             return Built{ops::EqualParts(in[0], 2, -1), {}};
           },
       .expected = {Floats({2, 2}, {1, 2, 5, 6}), Floats({2, 2}, {3, 4, 7, 8})},
       .batch = {0}},
      {.op = "Split",
       .claim = "along the rows",
       .inputs = {Count({4, 1})},
       .build =
           [](Graph&, const In& in) {
             return Built{ops::EqualParts(in[0], 2, 0), {}};
           },
       .expected = {Floats({2, 1}, {1, 2}), Floats({2, 1}, {3, 4})}},
      {.op = "SplitV",
       .claim = "into given sizes: the rest for -1, and none for 0",
       .inputs = {Count({2, 4})},
       .build =
           [](Graph& graph, const In& in) {
             Node* const parts = graph.AddNode(
                 "SplitV",
                 {in[0], graph.Constant(Longs({3}, {1, -1, 0})), graph.Scalar<int32_t>(1)},
                 {{"num_split", int64_t{3}}});
             return Built{{parts->output(0), parts->output(1), parts->output(2)}, {}};
           },
       .expected = {Floats({2, 1}, {1, 5}), Floats({2, 3}, {2, 3, 4, 6, 7, 8}), Floats({2, 0}, {})},
       .batch = {0}},
  };
}

// Every product of an equation of letters, one after the other.
Tensor Products(std::string_view equation, const std::vector<Tensor>& inputs) {
  std::vector<std::string> terms(1);
  for (const char c : equation) {
    if (c == ',' || c == '-') {
      terms.emplace_back();
    } else if (c != '>') {
      terms.back() += c;
    }
  }
  std::map<char, int64_t> sizes;
  std::map<char, int64_t> at;
  for (size_t i = 0; i < inputs.size(); ++i) {
    for (size_t axis = 0; axis < terms[i].size(); ++axis) {
      sizes[terms[i][axis]] = inputs[i].shape().dims()[axis];
    }
  }
  const auto place = [&](const std::string& term) {
    int64_t place = 0;
    for (const char label : term) place = place * sizes[label] + at[label];
    return place;
  };
  std::vector<int64_t> dims;
  for (const char label : terms.back()) dims.push_back(sizes[label]);
  std::vector<double> sums(static_cast<size_t>(Shape(dims).elements()), 0);
  int64_t products = 1;
  for (const auto& [label, size] : sizes) products *= size;
  for (int64_t i = 0; i < products; ++i) {
    int64_t rest = i;
    for (const auto& [label, size] : sizes) {
      at[label] = rest % size;
      rest /= size;
    }
    double product = 1;
    for (size_t k = 0; k < inputs.size(); ++k) product *= inputs[k].AsDouble(place(terms[k]));
    sums[static_cast<size_t>(place(terms.back()))] += product;
  }
  return Floats(Shape(dims), {sums.begin(), sums.end()});
}

struct EinsumCase {
  std::string claim;
  std::string equation;
  std::vector<Shape> shapes;
  std::vector<int> batch = {};
  bool sums_rows = false;
  std::string letters = {};  // the equation without an ellipsis, to compare with
};

OpCase SumOfProducts(const EinsumCase& sum) {
  std::vector<Tensor> inputs;
  for (const Shape& shape : sum.shapes) {
    inputs.push_back(Wave(shape, 1, 0.2F * static_cast<float>(inputs.size())));
  }
  return {.op = "Einsum",
          .claim = sum.claim + ": " + sum.equation,
          .inputs = inputs,
          .build =
              [equation = sum.equation](Graph&, const In& in) {
                return Built{{ops::Einsum(in, equation)}, {}};
              },
          .expected = {Products(sum.letters.empty() ? sum.equation : sum.letters, inputs)},
          .tolerance = 1e-5,
          .batch = sum.batch,
          .sums_rows = sum.sums_rows};
}

std::vector<OpCase> EinsumCases() {
  std::vector<OpCase> all;
  for (const EinsumCase& sum : std::vector<EinsumCase>{
           {"a dense layer on steps", "abc,cd->abd", {{2, 3, 4}, {4, 5}}, {0}},
           {"heads of a dense layer", "abc,cde->abde", {{2, 3, 4}, {4, 2, 3}}, {0}},
           {"its output", "abcd,cde->abe", {{2, 3, 2, 4}, {2, 4, 3}}, {0}},
           {"the gradient of its kernel", "abc,abd->cd", {{2, 3, 4}, {2, 3, 5}}, {0, 1}, true},
           {"scores of attention", "aecd,abcd->acbe", {{2, 3, 2, 4}, {2, 5, 2, 4}}, {0, 1}},
           {"what attention picks", "acbe,aecd->abcd", {{2, 2, 3, 4}, {2, 4, 2, 3}}, {0, 1}},
           {"operands in other orders", "cab,dbc->acd", {{3, 2, 4}, {5, 4, 3}}},
           {"an outer product", "ab,c->cab", {{2, 3}, {4}}},
           {"an inner product", "ab,ab->", {{2, 3}, {2, 3}}},
           {"labels that only one input has are summed", "abc,cd->db", {{2, 3, 4}, {4, 5}}},
           {"labels that only the other input has are summed",
            "ab,bcd->ac",
            {{2, 3}, {3, 4, 2}},
            {0}},
           {"a transpose", "abc->cab", {{2, 3, 4}}},
           {"sums", "abc->b", {{2, 3, 4}}},
           {"rows are kept", "abc->ac", {{2, 3, 4}}, {0}},
           {"the ellipsis", "...ab,bc->...ac", {{2, 3, 2, 4}, {4, 2}}, {0}, false, "xyab,bc->xyac"},
           {"an ellipsis of no axes", "ab...,bc->a...c", {{2, 3}, {3, 4}}, {0}, false, "ab,bc->ac"},
       }) {
    all.push_back(SumOfProducts(sum));
  }
  // TF: tf.einsum("a...,b...->ab...", [[1, 2, 3], [4, 5, 6]], [[2], [3]])
  all.push_back({.op = "Einsum",
                 .claim = "axes of 1 in the ellipsis stretch",
                 .inputs = {Count({2, 3}), Floats({2, 1}, {2, 3})},
                 .build =
                     [](Graph&, const In& in) {
                       return Built{{ops::Einsum(in, "a...,b...->ab...")}, {}};
                     },
                 .expected = {Floats({2, 2, 3}, {2, 4, 6, 3, 6, 9, 8, 10, 12, 12, 15, 18})},
                 .batch = {}});
  all.push_back({.op = "Einsum",
                 .claim = "a label that is named twice takes the diagonal",
                 .inputs = {Count({2, 2, 3})},
                 .build =
                     [](Graph&, const In& in) {
                       return Built{{ops::Einsum(in, "aab->ba")}, {}};
                     },
                 .expected = {Floats({3, 2}, {1, 10, 2, 11, 3, 12})}});
  all.push_back({.op = "Einsum",
                 .claim = "a trace, times what has a label of its own",
                 .inputs = {Count({2, 2, 2}), Floats({2, 3}, {1, 2, 3, 4, 5, 6})},
                 .build =
                     [](Graph&, const In& in) {
                       return Built{{ops::Einsum(in, "aba,bc->b")}, {}};
                     },
                 .expected = {Floats({2}, {42, 165})}});
  return all;
}

}  // namespace

std::vector<OpCase> SequenceCases() {
  std::vector<OpCase> all;
  for (const auto cases : {ReverseCases, BandCases, SplitCases, EinsumCases}) {
    for (OpCase& op_case : cases()) all.push_back(std::move(op_case));
  }
  return all;
}

}  // namespace tpuest
