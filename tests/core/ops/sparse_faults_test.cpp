// Invalid sizes and numbers of sparse tensors are refused at their place.

#include <doctest/doctest.h>

#include "core/backend/cpu/program.h"
#include "core/graph/bound_op.h"
#include "tests/core/ops/op_checks.h"

namespace tpuest {
namespace {

constexpr int64_t kHuge = int64_t{1} << 62;

// The message of an op's error on constants, whose code is kData; "" if there is none.
std::string RefusalOf(const std::string& op, const std::vector<Tensor>& inputs, Attrs attrs = {}) {
  try {
    Graph graph(TestRegistry());
    VariableStore variables;
    std::vector<Value> values;
    for (const Tensor& input : inputs) values.push_back(graph.Constant(input));
    Node* const node = graph.AddNode(op, values, std::move(attrs), "x");
    const ProgramSpec spec{.graph = &graph, .feeds = {}, .fetches = {node->output(0)}};
    const StepFeeds none;
    (void)MakeCpuBackend()->Compile(spec, {}, variables)->Run({&none, 1});
  } catch (const Error& error) {
    CHECK(error.code() == Code::kData);
    return error.message();
  }
  return "";
}

Tensor TwoFloats() { return Floats({2}, {1, 2}); }
Tensor TwoPlaces() { return Longs({2, 2}, {0, 1, 1, 0}); }

TEST_CASE("a sparse tensor is reshaped to as many elements, with all indices in range") {
  const auto reshape = [](const Tensor& indices, const std::vector<int64_t>& from,
                          const std::vector<int64_t>& to) {
    return RefusalOf("SparseReshape", {indices, Longs({static_cast<int64_t>(from.size())}, from),
                                       Longs({static_cast<int64_t>(to.size())}, to)});
  };
  CHECK(reshape(TwoPlaces(), {2, 2}, {4}) == "");
  CHECK(reshape(TwoPlaces(), {2, 3}, {5, -1}) ==
        "SparseReshape 'x': [2,3] has 6 elements, but [5,1] has 5");
  CHECK(reshape(TwoPlaces(), {2, 2}, {0, -1}) ==
        "SparseReshape 'x': the size -1 cannot be inferred next to a size of 0");
  CHECK(reshape(TwoPlaces(), {2, 2}, {-1, -1}) ==
        "SparseReshape 'x': a size of the dense shape is -1");
  CHECK(reshape(TwoPlaces(), {kHuge, 4}, {-1}) ==
        "SparseReshape 'x': the product of the sizes of the dense shape exceeds int64");
  CHECK(reshape(TwoPlaces(), {1, 4}, {-1}) ==
        "SparseReshape 'x': index 1 of axis 0 is out of range for [1,4]");
  CHECK(reshape(Longs({1, 2}, {0, -1}), {2, 2}, {4}) ==
        "SparseReshape 'x': index -1 of axis 1 is out of range for [2,2]");
}

TEST_CASE("empty rows are filled only in a possible dense shape, with indices in range") {
  const auto fill = [](const Tensor& indices, const std::vector<int64_t>& shape) {
    return RefusalOf("SparseFillEmptyRows",
                     {indices, TwoFloats(), Longs({2}, shape), Floats({}, {0})});
  };
  CHECK(fill(TwoPlaces(), {3, 2}) == "");
  CHECK(fill(TwoPlaces(), {kHuge, 2}) ==
        "SparseFillEmptyRows 'x': the dense shape has 4611686018427387904 rows, expected 0 to "
        "67108864");
  CHECK(fill(TwoPlaces(), {-1, 2}) ==
        "SparseFillEmptyRows 'x': the dense shape has -1 rows, expected 0 to 67108864");
  CHECK(fill(TwoPlaces(), {1, 2}) ==
        "SparseFillEmptyRows 'x': index 1 belongs to row 1, out of range for 1 rows");
  CHECK(fill(Longs({2, 2}, {-1, 0, 0, 0}), {1, 2}) ==
        "SparseFillEmptyRows 'x': index 0 belongs to row -1, out of range for 1 rows");
}

TEST_CASE("a part of a sparse tensor begins and ends at 0 or above") {
  const auto slice = [](const std::vector<int64_t>& start, const std::vector<int64_t>& size) {
    return RefusalOf("SparseSlice", {TwoPlaces(), TwoFloats(), Longs({2}, {2, 2}),
                                     Longs({2}, start), Longs({2}, size)});
  };
  CHECK(slice({kHuge, 0}, {kHuge, 1}) == "");
  CHECK(slice({0, 0}, {-1, 1}) ==
        "SparseSlice 'x': axis 0 starts at 0 and has size -1; both must be at least 0");
  CHECK(slice({0, -2}, {1, 1}) ==
        "SparseSlice 'x': axis 1 starts at -2 and has size 1; both must be at least 0");
}

TEST_CASE("segment ids are sorted, and their rows exist") {
  const Tensor rows = Floats({2, 1}, {1, 2});
  CHECK(RefusalOf("SegmentSum", {rows, Ints({2}, {1, 0})}) ==
        "SegmentSum 'x': segment id 1 is 0, after 1: ids must be sorted and start at 0");
  CHECK(RefusalOf("SegmentMean", {rows, Ints({2}, {-1, 0})}) ==
        "SegmentMean 'x': segment id 0 is -1, after 0: ids must be sorted and start at 0");
  CHECK(RefusalOf("SegmentSum", {rows, Longs({2}, {0, kHuge})}) ==
        "SegmentSum 'x': segment id 4611686018427387904 is too large");
  CHECK(RefusalOf("SparseSegmentMeanWithNumSegments",
                  {rows, Ints({2}, {0, 1}), Ints({2}, {0, 3}), Ints({}, {3})}) ==
        "SparseSegmentMeanWithNumSegments 'x': num_segments is 3, but segment ids go up to 3");
  CHECK(RefusalOf("SparseSegmentSum", {rows, Ints({2}, {0, 2}), Ints({2}, {0, 0})}) !=
        "");  // from the op that looks up rows
}

TEST_CASE("indices of several axes, and positions of stitched rows, are in range") {
  CHECK(RefusalOf("GatherNd", {Floats({2, 3}, {1, 2, 3, 4, 5, 6}), Ints({1, 2}, {0, 3})}) ==
        "GatherNd 'x': index 3 of axis 1 is out of range for [2,3]");
  CHECK(RefusalOf("ScatterNd", {Ints({1, 1}, {-1}), Floats({1}, {1}), Ints({1}, {2})}) ==
        "ScatterNd 'x': index -1 of axis 0 is out of range for [2]");
  CHECK(RefusalOf("ScatterNd", {Longs({1, 1}, {0}), Floats({1}, {1}), Longs({1}, {kHuge})}) ==
        "ScatterNd 'x': no tensor can have the shape [4611686018427387904]");
  CHECK(RefusalOf("DynamicPartition", {TwoFloats(), Ints({2}, {0, 2})},
                  {{"num_partitions", int64_t{2}}}) ==
        "DynamicPartition 'x': partitions[1] is 2, out of range for 2 lists");
  CHECK(RefusalOf("DynamicStitch", {Ints({2}, {0, 2000000000}), TwoFloats()}) ==
        "DynamicStitch 'x': indices[0] names row 2000000000, expected 0 to 67108863");
}

TEST_CASE("sizes that follow from values are those of values that are fed") {
  Graph graph(TestRegistry());
  VariableStore variables;
  const Value x = graph.Placeholder(DType::kFloat, {kUnknownDim, kUnknownDim}, "x");
  const Value where = graph.Add("Where", {x});
  (void)graph.Add("GatherNd", {x, where});
  CHECK(IsSizedByValues({where}));
  const Tensor value = Floats({2, 2}, {0, 5, 0, 6});
  const auto run = [&](const Tensor& known) {
    const ProgramSpec spec{
        .graph = &graph,
        .feeds = {{.placeholder = x, .shape = {2, 2}, .cut = true, .value = known}},
        .fetches = {graph.FindNode("GatherNd")->output(0)}};
    const StepFeeds feeds = {{value}};
    return MakeCpuBackend()->Compile(spec, {}, variables)->Run({&feeds, 1})[0].fetches[0][0];
  };
  CHECK(SameBits(run(value), Floats({2}, {5, 6})));
  CHECK_THROWS_WITH_AS((void)run({}),
                       "Where 'Where': the sizes of its results depend on the values of its inputs",
                       Error);
}

}  // namespace
}  // namespace tpuest
