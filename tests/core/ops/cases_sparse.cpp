// Ops on sparse tensors and on rows by number, whose sizes follow from values, which are constants
// in the graphs. The numbers are TensorFlow 2.15's.

#include <cmath>
#include <cstdint>

#include "core/ops/array.h"
#include "tests/core/ops/op_cases.h"

namespace tpuest {
namespace {

using In = std::vector<Value>;

constexpr auto kHashKey = int64_t{0xDECAFCAFFE};

Tensor ThreePlaces() { return Longs({3, 2}, {0, 1, 2, 0, 2, 2}); }
Tensor UnsortedPlaces() { return Longs({3, 2}, {2, 1, 0, 3, 2, 0}); }
Tensor FourRows() { return Floats({4, 2}, {1, 2, 3, 4, 5, 7, 11, 13}); }
Tensor Words() { return Tensor::Strings({3}, {"a", "b", "c"}); }

Built AllOutputs(Node& node) {
  Built built;
  for (int i = 0; i < node.outputs(); ++i) built.results.push_back(node.output(i));
  return built;
}

// Builds an op on the inputs, with constants at some positions among them.
BuildFn OnConstants(std::string op, std::vector<std::pair<size_t, Tensor>> constants,
                    Attrs attrs = {}) {
  return [op = std::move(op), constants = std::move(constants), attrs = std::move(attrs)](
             Graph& graph, const In& in) {
    std::vector<Value> inputs = in;
    for (const auto& [at, value] : constants) {
      inputs.insert(inputs.begin() + static_cast<long>(at), graph.Constant(value));
    }
    return AllOutputs(*graph.AddNode(op, inputs, attrs));
  };
}

std::vector<OpCase> SparseTensorCases() {
  return {
      {.op = "SparseReshape",
       .claim = "works out a size that is left open",
       .inputs = {ThreePlaces(), Longs({2}, {3, 4}), Longs({3}, {2, -1, 3})},
       .build = OnConstants("SparseReshape", {}),
       .expected = {Longs({3, 3}, {0, 0, 1, 1, 0, 2, 1, 1, 1}), Longs({3}, {2, 2, 3})}},
      {.op = "SparseFillEmptyRows",
       .inputs = {Floats({3}, {0.5F, 1.5F, 2.5F}), Floats({}, {-1})},
       .build = OnConstants("SparseFillEmptyRows", {{0, ThreePlaces()}, {2, Longs({2}, {4, 3})}}),
       .expected = {Longs({5, 2}, {0, 1, 1, 0, 2, 0, 2, 2, 3, 0}),
                    Floats({5}, {0.5F, -1, 1.5F, 2.5F, -1}), Bools({4}, {0, 1, 0, 1}),
                    Longs({3}, {0, 2, 3})}},
      {.op = "SparseFillEmptyRows",
       .claim = "puts rows in their order, and leaves that of a row's values",
       .inputs = {Words(), Tensor::Strings({}, {"z"})},
       .build =
           OnConstants("SparseFillEmptyRows", {{0, UnsortedPlaces()}, {2, Longs({2}, {3, 4})}}),
       .expected = {Longs({4, 2}, {0, 3, 1, 0, 2, 1, 2, 0}),
                    Tensor::Strings({4}, {"b", "z", "a", "c"}), Bools({3}, {0, 1, 0}),
                    Longs({3}, {2, 0, 3})}},
      {.op = "SparseSlice",
       .claim = "ends where the tensor does",
       .inputs = {Floats({4}, {1, 2, 3, 4})},
       .build = OnConstants("SparseSlice", {{0, Longs({4, 2}, {0, 1, 1, 1, 1, 3, 2, 2})},
                                            {2, Longs({2}, {3, 4})},
                                            {3, Longs({2}, {1, 1})},
                                            {4, Longs({2}, {5, 2})}}),
       .expected = {Longs({2, 2}, {0, 0, 1, 1}), Floats({2}, {2, 4}), Longs({2}, {2, 2})}},
      {.op = "SparseReorder",
       .inputs = {UnsortedPlaces(), Floats({3}, {1, 2, 3}), Longs({2}, {3, 4})},
       .build = OnConstants("SparseReorder", {}),
       .expected = {Longs({3, 2}, {0, 3, 2, 0, 2, 1}), Floats({3}, {2, 3, 1})}},
      {.op = "SparseCross",
       .claim = "crosses a sparse input with a dense one",
       .inputs = {Words(), Longs({3, 2}, {1, 2, 3, 4, 5, 6})},
       .build = OnConstants("SparseCross",
                            {{0, Longs({3, 2}, {0, 0, 0, 1, 2, 0})}, {2, Longs({2}, {3, 2})}},
                            {{"N", int64_t{1}},
                             {"sparse_types", std::vector<DType>{DType::kString}},
                             {"dense_types", std::vector<DType>{DType::kInt64}},
                             {"hashed_output", true},
                             {"num_buckets", int64_t{100}},
                             {"hash_key", kHashKey},
                             {"out_type", DType::kInt64},
                             {"internal_type", DType::kInt64}}),
       .expected = {Longs({6, 2}, {0, 0, 0, 1, 0, 2, 0, 3, 2, 0, 2, 1}),
                    Longs({6}, {85, 87, 83, 57, 7, 94}), Longs({2}, {3, 4})}},
      {.op = "SparseCross",
       .claim = "leaves out the rows in which a sparse input has nothing",
       .inputs = {Words(), Longs({4}, {7, 8, 9, 10})},
       .build = OnConstants("SparseCross",
                            {{0, Longs({3, 2}, {0, 0, 0, 1, 2, 0})},
                             {1, Longs({4, 2}, {0, 0, 1, 0, 2, 0, 2, 1})},
                             {4, Longs({2}, {3, 2})},
                             {5, Longs({2}, {3, 2})}},
                            {{"N", int64_t{2}},
                             {"sparse_types", std::vector<DType>{DType::kString, DType::kInt64}},
                             {"dense_types", std::vector<DType>()},
                             {"hashed_output", true},
                             {"num_buckets", int64_t{100}},
                             {"hash_key", kHashKey},
                             {"out_type", DType::kInt64},
                             {"internal_type", DType::kInt64}}),
       .expected = {Longs({4, 2}, {0, 0, 0, 1, 2, 0, 2, 1}), Longs({4}, {56, 76, 11, 80}),
                    Longs({2}, {3, 2})}},
      {.op = "Where",
       .claim = "counts what is not a number",
       .build = OnConstants("Where", {{0, Floats({2, 3}, {0, 0.5F, 0, -1, 0, NAN})}}),
       .expected = {Longs({3, 2}, {0, 1, 1, 0, 1, 2})}},
      {.op = "Unique",
       .claim = "has as many numbers as a constant has different ones",
       .build = OnConstants("Unique", {{0, Longs({6}, {7, -1, 7, 3, -1, 3})}}),
       .expected = {Longs({3}, {7, -1, 3}), Ints({6}, {0, 1, 0, 2, 1, 2})}},
  };
}

std::vector<OpCase> NdCases() {
  const Tensor params = Wave({2, 3, 2});
  return {
      {.op = "GatherNd",
       .inputs = {Floats({2, 3, 2}, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}),
                  Ints({3, 2}, {1, 2, 0, 0, 1, 2})},
       .build = OnConstants("GatherNd", {}),
       .expected = {Floats({3, 2}, {10, 11, 0, 1, 10, 11})},
       .batch = {1}},
      {.op = "GatherNd",
       .claim = "picks whole slices",
       .inputs = {params, Longs({1, 1}, {1})},
       .build = OnConstants("GatherNd", {}),
       .expected = {params.Rows(1, 2)}},
      {.op = "GatherNd",
       .claim = "of indices without axes picks everything",
       .inputs = {Floats({2}, {3, 4}), Ints({2, 0}, {})},
       .build = OnConstants("GatherNd", {}),
       .expected = {Floats({2, 2}, {3, 4, 3, 4})}},
      {.op = "ScatterNd",
       .claim = "adds what is named twice",
       .inputs = {Ints({3, 2}, {1, 2, 0, 0, 1, 2}), Floats({3, 2}, {1, 2, 3, 4, 5, 6})},
       .build = OnConstants("ScatterNd", {{2, Ints({3}, {2, 3, 2})}}),
       .expected = {Floats({2, 3, 2}, {3, 4, 0, 0, 0, 0, 0, 0, 0, 0, 6, 8})}},
  };
}

OpCase Segmented(const std::string& op, const std::vector<float>& expected) {
  return {.op = op,
          .inputs = {FourRows()},
          .build = OnConstants(op, {{1, Ints({4}, {0, 0, 2, 2})}}),
          .expected = {Floats({3, 2}, expected)}};
}

// Rows 3, 0, 0 are segment 0, rows 1, 2 segment 2. With a number of segments there are four.
OpCase PickedSegments(const std::string& op, std::vector<float> expected, bool counts) {
  std::vector<std::pair<size_t, Tensor>> constants = {{1, Ints({5}, {3, 0, 0, 1, 2})},
                                                      {2, Longs({5}, {0, 0, 0, 2, 2})}};
  if (counts) {
    constants.emplace_back(3, Ints({}, {4}));
    expected.insert(expected.end(), {0, 0});
  }
  return {.op = op,
          .inputs = {FourRows()},
          .build = OnConstants(op, constants),
          .expected = {Floats({counts ? 4 : 3, 2}, expected)},
          .tolerance = 2e-7};
}

std::vector<OpCase> SortedSegmentCases() {
  std::vector<OpCase> cases = {Segmented("SegmentSum", {4, 6, 0, 0, 16, 20}),
                               Segmented("SegmentMean", {2, 3, 0, 0, 8, 10})};
  for (const bool counts : {false, true}) {
    const std::string end = counts ? "WithNumSegments" : "";
    cases.push_back(PickedSegments("SparseSegmentSum" + end, {13, 17, 0, 0, 8, 11}, counts));
    cases.push_back(
        PickedSegments("SparseSegmentMean" + end, {4.3333335F, 5.666667F, 0, 0, 4, 5.5F}, counts));
    cases.push_back(PickedSegments("SparseSegmentSqrtN" + end,
                                   {7.5055532F, 9.814955F, 0, 0, 5.6568542F, 7.7781744F}, counts));
  }
  return cases;
}

OpCase RunningSums(std::string claim, int axis, bool exclusive, bool reverse,
                   const std::vector<float>& expected) {
  return {.op = "Cumsum",
          .claim = std::move(claim),
          .inputs = {Floats({2, 3}, {1, 2, 4, 8, 16, 32})},
          .build = OnConstants("Cumsum", {{1, Ints({}, {axis})}},
                               {{"exclusive", exclusive}, {"reverse", reverse}}),
          .expected = {Floats({2, 3}, expected)}};
}

std::vector<OpCase> CumsumCases() {
  return {
      RunningSums("along the last axis", 1, false, false, {1, 3, 7, 8, 24, 56}),
      RunningSums("without the element itself", 0, true, false, {0, 0, 0, 1, 2, 4}),
      RunningSums("from the end", -1, false, true, {7, 6, 4, 56, 48, 32}),
      RunningSums("from the end, without the element itself", 1, true, true, {6, 4, 0, 48, 32, 0}),
  };
}

std::vector<OpCase> StitchCases() {
  return {
      {.op = "DynamicPartition",
       .inputs = {FourRows()},
       .build = OnConstants("DynamicPartition", {{1, Ints({4}, {1, 0, 1, 2})}},
                            {{"num_partitions", int64_t{4}}}),
       .expected = {Floats({1, 2}, {3, 4}), Floats({2, 2}, {1, 2, 5, 7}), Floats({1, 2}, {11, 13}),
                    Floats({0, 2}, {})}},
      {.op = "DynamicStitch",
       .inputs = {Floats({2, 2}, {1, 2, 3, 4}), Floats({1, 2, 2}, {5, 7, 11, 13})},
       .build = OnConstants("DynamicStitch", {{0, Ints({2}, {2, 0})}, {1, Ints({1, 2}, {1, 3})}},
                            {{"N", int64_t{2}}}),
       .expected = {Floats({4, 2}, {3, 4, 5, 7, 1, 2, 11, 13})}},
      {.op = "DynamicStitch",
       .claim = "takes the last of two rows for one place, and fills up with zeros",
       .inputs = {Floats({2, 2}, {1, 2, 3, 4}), Floats({1, 2}, {11, 13})},
       .build = OnConstants("DynamicStitch", {{0, Ints({2}, {2, 0})}, {1, Ints({1}, {2})}},
                            {{"N", int64_t{2}}}),
       .expected = {Floats({3, 2}, {3, 4, 0, 0, 11, 13})},
       .numeric_gradient = false},  // TensorFlow's gradient is not the derivative: each row gets
                                    // that of its position
      {.op = "ParallelDynamicStitch",
       .inputs = {Floats({2, 2}, {1, 2, 3, 4}), Floats({1, 2}, {11, 13})},
       .build = OnConstants("ParallelDynamicStitch", {{0, Ints({2}, {2, 0})}, {1, Ints({1}, {1})}},
                            {{"N", int64_t{2}}}),
       .expected = {Floats({3, 2}, {3, 4, 11, 13, 1, 2})}},
  };
}

}  // namespace

std::vector<OpCase> SparseCases() {
  std::vector<OpCase> all;
  for (const auto cases :
       {SparseTensorCases, NdCases, SortedSegmentCases, StitchCases, CumsumCases}) {
    for (OpCase& op_case : cases()) all.push_back(std::move(op_case));
  }
  return all;
}

}  // namespace tpuest
