// Lists of any length in tf.Examples: their sizes follow from the examples.

#include <doctest/doctest.h>

#include <limits>

#include "core/backend/cpu/program.h"
#include "core/graph/bound_op.h"
#include "core/io/examples/example.h"
#include "core/ops/parsing.h"
#include "core/ops/strings.h"
#include "tests/core/ops/op_checks.h"

namespace tpuest {
namespace {

// ids [3, 4], words ["a", ""], weights [0.5], label 1; then label 2 and ids [5]; then label 3.
Tensor ThreeExamples() {
  ExampleWriter writer;
  writer.Ints("ids", std::vector<int64_t>{3, 4});
  writer.Bytes("words", std::vector<std::string_view>{"a", ""});
  writer.Floats("weights", std::vector<float>{0.5F});
  writer.Int("label", 1);
  const std::string first = writer.Finish();
  writer.Int("ids", 5);
  writer.Int("label", 2);
  const std::string second = writer.Finish();
  writer.Int("label", 3);
  return Tensor::Strings({3}, {first, second, writer.Finish()});
}

struct Parsed {
  std::vector<Tensor> values;
  std::vector<Shape> shapes;
};

// The results of `build` for the examples, in a program compiled for them.
template <class Build>
Parsed RunOn(const Tensor& examples, Build build) {
  Graph graph(TestRegistry());
  VariableStore variables;
  const Value x = graph.Placeholder(DType::kString, {kUnknownDim}, "x");
  const ProgramSpec spec{
      .graph = &graph,
      .feeds = {{.placeholder = x, .shape = examples.shape(), .cut = true, .value = examples}},
      .fetches = build(x),
      .targets = {},
      .guard = {}};
  CHECK(IsSizedByValues(spec.fetches));
  const auto program = MakeCpuBackend()->Compile(spec, {}, variables);
  const StepFeeds feeds = {{examples}};
  Parsed parsed{.values = {}, .shapes = program->fetch_shapes()};
  const auto results = program->Run({&feeds, 1});
  for (const auto& fetch : results[0].fetches) parsed.values.push_back(fetch[0]);
  return parsed;
}

std::vector<Value> Parse(Value x) {
  return ops::ParseExample(
      x, {{"label", DType::kInt64, {}, {}}},
      {{"ids", DType::kInt64}, {"weights", DType::kFloat}, {"words", DType::kString}});
}

TEST_CASE("lists are padded to the longest of the batch, each with its own value") {
  const Parsed parsed = RunOn(ThreeExamples(), Parse);
  CHECK(SameBits(parsed.values[0], Longs({3}, {1, 2, 3})));
  CHECK(SameBits(parsed.values[1], Longs({3, 2}, {3, 4, 5, -1, -1, -1})));
  constexpr float kNone = std::numeric_limits<float>::quiet_NaN();
  CHECK(SameBits(parsed.values[2], Floats({3, 1}, {0.5F, kNone, kNone})));
  CHECK(SameBits(parsed.values[3], Tensor::Strings({3, 2}, {"a", "", "", "", "", ""})));
  CHECK(parsed.shapes[1].Text() == "[3,2]");
}

TEST_CASE("ops that read lists get their size") {
  const Parsed parsed = RunOn(ThreeExamples(), [](Value x) {
    return std::vector<Value>{ops::StringToHashBucketFast(Parse(x)[3], 1000)};
  });
  CHECK(SameBits(parsed.values[0], Longs({3, 2}, {939, 263, 263, 263, 263, 263})));
}

TEST_CASE("a batch without a value of a list has none") {
  const Tensor examples = ThreeExamples().Rows(2, 3);
  CHECK(RunOn(examples, Parse).values[1].shape().Text() == "[1,0]");
}

TEST_CASE("the op of older graphs gives the same positions and values") {
  const Parsed parsed = RunOn(ThreeExamples(), [](Value x) {
    Graph& graph = x.graph();
    const Value none = graph.Constant(Tensor(DType::kString, {0}));
    const Value key = graph.Constant(Tensor::Strings({}, {"ids"}));
    Node* const node = graph.AddNode("ParseExample", {x, none, key},
                                     {{"Nsparse", int64_t{1}},
                                      {"Ndense", int64_t{0}},
                                      {"sparse_types", std::vector<DType>{DType::kInt64}},
                                      {"Tdense", std::vector<DType>()},
                                      {"dense_shapes", std::vector<Shape>()}});
    CHECK(node->output_shape(0).Text() == "[?,2]");
    return std::vector<Value>{node->output(0), node->output(1), node->output(2)};
  });
  CHECK(SameBits(parsed.values[0], Longs({3, 2}, {0, 0, 0, 1, 1, 0})));
  CHECK(SameBits(parsed.values[1], Longs({3}, {3, 4, 5})));
  CHECK(SameBits(parsed.values[2], Longs({2}, {3, 2})));
}

TEST_CASE("a list of another kind is refused") {
  const auto parse = [](Value x) { return ops::ParseExample(x, {}, {{"words", DType::kInt64}}); };
  CHECK_THROWS_WITH_AS(RunOn(ThreeExamples(), parse),
                       "Name: <unknown>, Key: words, Index: 0.  Data types don't match. Data type: "
                       "string but expected type: int64",
                       Error);
}

}  // namespace
}  // namespace tpuest
