// Numbers that no program writes into a graph, but a file may contain: each is refused before
// memory beyond the tensors is read and before a size overflows.

#include <doctest/doctest.h>

#include <algorithm>
#include <functional>

#include "core/backend/cpu/program.h"
#include "core/ops/array.h"
#include "tests/core/ops/op_checks.h"
#include "tests/core/ops/op_run.h"

namespace tpuest {
namespace {

constexpr int64_t kHuge = int64_t{1} << 62;

// The message of the Error that building throws, or "" if there is none.
std::string Refusal(const std::function<void(Graph&)>& build) {
  Graph graph(TestRegistry());
  try {
    build(graph);
  } catch (const Error& error) {
    CHECK(error.code() == Code::kUsage);
    return error.message();
  }
  return "";
}

Value Image(Graph& graph, const Shape& shape) {
  return graph.Placeholder(DType::kFloat, shape, "x");
}
Value Ints(Graph& graph, const std::vector<int64_t>& values) {
  return graph.Constant(Tensor::Of<int64_t>({static_cast<int64_t>(values.size())}, values), "ints");
}
Value Int(Graph& graph, int64_t value) { return graph.Scalar<int64_t>(value); }

TEST_CASE("an empty constant is neither an axis nor a number") {
  CHECK(Refusal([](Graph& g) {
          g.Add("ConcatV2", {Image(g, {2}), Image(g, {2}), Ints(g, {})});
        }) == "ConcatV2 'ConcatV2': axis must be one number, found [0]");
  CHECK(Refusal([](Graph& g) {
          g.Add("GatherV2", {Image(g, {2, 3}), Ints(g, {0}), Ints(g, {})});
        }) == "GatherV2 'GatherV2': axis must be one number, found [0]");
  CHECK(Refusal([](Graph& g) {
          g.Add("ArgMax", {Image(g, {2, 3}), Ints(g, {})});
        }) == "ArgMax 'ArgMax': dimension must be one number, found [0]");
  CHECK(Refusal([](Graph& g) {
          g.Add("ExpandDims", {Image(g, {2}), Ints(g, {0, 1})});
        }) == "ExpandDims 'ExpandDims': axis must be one number, found [2]");
  CHECK(Refusal([](Graph& g) {
          g.Add("TopKV2", {Image(g, {2}), g.Constant(Tensor::Of<int32_t>({0}, {}))});
        }) == "TopKV2 'TopKV2': k must be one number, found [0]");
  CHECK(Refusal([](Graph& g) {
          g.Add("UnsortedSegmentSum", {Image(g, {2}), Ints(g, {0, 1}), Ints(g, {})});
        }) ==
        "UnsortedSegmentSum 'UnsortedSegmentSum': num_segments must be one number, found [0]");
}

TEST_CASE("a shape that follows from an open-ended slice is not known") {
  Graph graph(TestRegistry());
  const Value x = Image(graph, {2, 3});
  const Value none = graph.Placeholder(DType::kInt32, {kUnknownDim}, "none");
  const Value shape = graph.Add("StridedSlice", {graph.Add("Shape", {x}), none, none, none});
  CHECK_FALSE(graph.Add("Reshape", {x, shape}).shape().known_rank());
}

TEST_CASE("a second ellipsis has no axes left, and the 65th position no bit in a mask") {
  const auto slice = [](Graph& g, const Shape& shape, size_t positions, int64_t ellipses) {
    const std::vector<int64_t> zeros(positions, 0);
    const std::vector<int64_t> ones(positions, 1);
    return g.Add("StridedSlice", {Image(g, shape), Ints(g, zeros), Ints(g, ones), Ints(g, ones)},
                 {{"ellipsis_mask", ellipses}});
  };
  CHECK(Refusal([&](Graph& g) {
          slice(g, {2, 3}, 2, 3);
        }) == "StridedSlice 'StridedSlice': found 2 ellipses, expected at most one");
  Graph graph(TestRegistry());
  std::vector<int64_t> dims(70, 1);
  std::fill_n(dims.begin(), 5, 2);
  CHECK(slice(graph, Shape(dims), 66, 1).shape() == Shape(dims));
}

TEST_CASE("sizes that would overflow are refused") {
  CHECK(Refusal([](Graph& g) {
          g.Add("Tile", {Image(g, {4}), Ints(g, {kHuge})});
        }) == "Tile 'Tile': the result is too large for a tensor");
  CHECK(Refusal([](Graph& g) {
          g.Add("Pad", {Image(g, {4}), g.Constant(Tensor::Of<int64_t>({1, 2}, {kHuge, kHuge}))});
        }) == "Pad 'Pad': the result is too large for a tensor");
  CHECK(Refusal([](Graph& g) {
          g.Add("Reshape", {Image(g, {4}), Ints(g, {kHuge, kHuge, 4})});
        }) ==
        fmt::format("Reshape 'Reshape': no tensor can have the shape [{},{},4]", kHuge, kHuge));
  CHECK(Refusal([](Graph& g) {
          g.Add("Reshape", {Image(g, {4}), Ints(g, {-2, -2})});
        }) == "Reshape 'Reshape': no tensor can have the shape [-2,-2]");
  CHECK(Refusal([](Graph& g) {
          g.Add("Slice", {Image(g, {4}), Ints(g, {INT64_MAX}), Ints(g, {1})});
        }) == fmt::format("Slice 'Slice': begins at {}", INT64_MAX));
  CHECK(Refusal([](Graph& g) {
          const auto number = [&](double value) { return g.Scalar<double>(value); };
          g.Add("Range", {number(0), number(1e300), number(1e-300)});
        }) == "Range 'Range': the result is too large for a tensor");
  CHECK(Refusal([](Graph& g) {
          g.Add("UnsortedSegmentSum", {Image(g, {2}), Ints(g, {0, 1}), Int(g, -1)});
        }) == "UnsortedSegmentSum 'UnsortedSegmentSum': num_segments is -1");
  CHECK(Refusal([](Graph& g) {
          g.Add("MaxPool", {Image(g, {1, 4, 4, 1})},
                {{"ksize", std::vector<int64_t>{1, 2, 2, 1}},
                 {"strides", std::vector<int64_t>{1, kHuge, 2, 1}},
                 {"padding", std::string("SAME")}});
        }) == fmt::format("MaxPool 'MaxPool': strides is [1, {}, 2, 1], expected [1, height, "
                          "width, 1]",
                          kHuge));
}

TEST_CASE("integers wrap around") {
  Graph graph(TestRegistry());
  const auto number = [&](int32_t value) { return graph.Scalar<int32_t>(value); };
  const Value least = number(INT32_MIN);
  const Value most = number(INT32_MAX);
  const Value both = graph.Constant(Tensor::Of<int32_t>({2}, {INT32_MAX, 3}));
  const std::vector<Value> results = {graph.Add("AddV2", {most, number(2)}),
                                      graph.Add("Sub", {least, number(1)}),
                                      graph.Add("Mul", {most, number(2)}),
                                      graph.Add("SquaredDifference", {most, number(-1)}),
                                      graph.Add("Neg", {least}),
                                      graph.Add("Abs", {least}),
                                      graph.Add("Square", {number(1 << 16)}),
                                      graph.Add("Sum", {both, number(0)}),
                                      graph.Add("Prod", {both, number(0)})};
  VariableStore variables;
  const auto program =
      MakeCpuBackend()->Compile({.graph = &graph, .fetches = results}, {}, variables);
  const StepFeeds none;
  const StepResult step = program->Run({&none, 1}).at(0);
  std::vector<int32_t> found;
  for (const auto& fetch : step.fetches) found.push_back(fetch.at(0).values<int32_t>()[0]);
  CHECK(found == std::vector<int32_t>{INT32_MIN + 1, INT32_MAX, -2, 0, INT32_MIN, INT32_MIN, 0,
                                      INT32_MIN + 2, INT32_MAX - 2});
}

}  // namespace
}  // namespace tpuest
